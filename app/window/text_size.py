"""How large text is: a share of the desktop's, for the whole window."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication

STEPS = (80, 90, 100, 110, 125, 150, 175, 200)  # per cent


class TextSize(QObject):
    """Sets the application's font; ``changed`` comes after every widget has it."""

    changed = Signal(int)  # per cent

    def __init__(self, app: QApplication, percent: int) -> None:
        super().__init__(app)
        self._app = app
        # The application's own font: another window may have enlarged what the application has now.
        self._usual = QFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont))
        self._percent = 100
        self.choose(percent)

    @property
    def percent(self) -> int:
        return self._percent

    def larger(self) -> None:
        self.choose(next((step for step in STEPS if step > self._percent), self._percent))

    def smaller(self) -> None:
        self.choose(next((step for step in reversed(STEPS) if step < self._percent), self._percent))

    def choose(self, percent: int) -> None:
        if percent == self._percent:
            return
        self._percent = percent
        self._app.setFont(enlarged(self._usual, percent / 100))
        self.changed.emit(percent)


def enlarged(font: QFont, factor: float) -> QFont:
    """The same font in another size; a desktop gives it in points or in pixels."""
    made = QFont(font)
    if font.pointSizeF() > 0:
        made.setPointSizeF(font.pointSizeF() * factor)
    else:
        made.setPixelSize(max(1, round(font.pixelSize() * factor)))
    return made
