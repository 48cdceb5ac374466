"""A list of entries of any height, one below the other, that scrolls."""

from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from roofscope.app.window.widgets.labels import as_pane


class ScrollList(QScrollArea):
    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """``name`` is what a screen reader calls it."""
        super().__init__(parent)
        self._list = QVBoxLayout()
        self._list.setSpacing(12)
        content = QWidget()
        as_pane(content)
        column = QVBoxLayout(content)
        column.setContentsMargins(16, 12, 16, 12)
        column.addLayout(self._list)
        column.addStretch(1)
        self.setWidgetResizable(True)
        self.setWidget(content)
        self.setAccessibleName(name)

    def add(self, entry: QWidget) -> None:
        self._list.addWidget(entry)

    def clear(self) -> None:
        while (item := self._list.takeAt(0)) is not None:
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
