"""Whose roofline it is, in the bar over the chart, and what else must be known of that."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.icons import icon_pixmap
from roofscope.app.window.widgets.labels import tip_text

_GAP = 6
_SIGN = 16


class HeadingLine(QWidget):
    """The device's name, and a note in the warning colour: whole, or where there is no room as a sign."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title, self._note = ElidedLabel(), ElidedLabel("warning")
        bold = QFont()
        bold.setBold(True)
        self._title.setFont(bold)
        self._title.setAccessibleName("Device")
        self._sign = QLabel()
        self._sign.setFixedSize(_SIGN, _SIGN)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(_GAP)
        for part in (self._title, self._sign, self._note):
            row.addWidget(part, 0, Qt.AlignmentFlag.AlignVCenter)
        self.set_theme(theme)
        self.set_texts("", "")

    @property
    def texts(self) -> tuple[str, str]:
        """Title and note."""
        return self._title.whole_text, self._note.whole_text

    def set_theme(self, theme: Theme) -> None:
        self._sign.setPixmap(icon_pixmap("triangle-alert", theme.warning, _SIGN, self.devicePixelRatioF()))

    def set_texts(self, title: str, note: str) -> None:
        self._title.set_text(title)
        self._note.set_text(note)
        self._sign.setToolTip(tip_text(f"{title}, {note}"))
        self._sign.setAccessibleName(note)

    def width_needed(self, *, whole: bool) -> int:
        title = self._title.sizeHint().width()
        if not self._note.whole_text:
            return title
        return title + _GAP + (self._note.sizeHint().width() if whole else _SIGN)

    def take(self, width: int, *, whole: bool) -> None:
        """Take this width; the title gives way before the sign does."""
        has_note = bool(self._note.whole_text)
        self._note.setVisible(has_note and whole)
        self._sign.setVisible(has_note and not whole)
        note = self._note.sizeHint().width() if whole else _SIGN
        self._title.setFixedWidth(
            max(0, min(self._title.sizeHint().width(), width - has_note * (note + _GAP)))
        )
        self._note.setFixedWidth(note if has_note and whole else 0)
        self.setFixedWidth(min(width, self.width_needed(whole=whole)))
