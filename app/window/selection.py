"""The one selection that chart, table, details and trace share."""

from PySide6.QtCore import QObject, Signal


class Selection(QObject):
    """The number of the selected point, or None."""

    changed = Signal(object)  # int | None

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._number: int | None = None

    @property
    def number(self) -> int | None:
        return self._number

    def select(self, number: int | None) -> None:
        if number != self._number:
            self._number = number
            self.changed.emit(number)
