"""The one filter that chart, table and library share."""

from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.view_filter import ViewFilter


class ShownPoints(QObject):
    """Holds the filter; whatever a pane lets the user hide or isolate, every pane follows."""

    changed = Signal(object)  # ViewFilter

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._filter = ViewFilter()

    @property
    def filter(self) -> ViewFilter:
        return self._filter

    def show(self, wanted: ViewFilter) -> None:
        if wanted != self._filter:
            self._filter = wanted
            self.changed.emit(wanted)
