"""Every command and its keys, from the one list of commands, and what keys and mouse do in the chart."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from roofscope.app.window.commands import CHART_KEYS, COMMANDS, Command, Menu, plain_text
from roofscope.app.window.palette_entries import keys_text
from roofscope.app.window.widgets.labels import label
from roofscope.app.window.widgets.scroll_list import ScrollList

Row = tuple[str, str, str]  # what it does, by which keys, and more about it


class ShortcutsDialog(QDialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Shortcuts")
        self.setAccessibleName("Shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(800, 600)
        self._rows: list[tuple[str, tuple[QWidget, ...]]] = []
        self._titles: list[tuple[QWidget, list[int]]] = []
        search = QLineEdit()
        search.setPlaceholderText("Search")
        search.setAccessibleName("Search the shortcuts")
        search.setClearButtonEnabled(True)
        search.textChanged.connect(self._filter)
        listed = ScrollList("Shortcuts")
        listed.add(self._grid())
        close = QPushButton("Close")
        close.setAccessibleName("Close")
        close.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(10)
        layout.addWidget(search)
        layout.addWidget(listed, 1)
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)

    def _grid(self) -> QWidget:
        content = QWidget()
        grid = QGridLayout(content)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(2, 1)
        groups: list[tuple[str, list[Row]]] = [
            (
                menu.replace("&", ""),
                [_row(command) for command in COMMANDS if command.menu is menu],
            )
            for menu in Menu
        ]
        at = 0
        for name, rows in (*groups, ("In the chart", list(CHART_KEYS))):
            title = label(name, "section")
            grid.addWidget(title, at, 0, 1, 3)
            mine: list[int] = []
            for text, keys, tip in rows:
                if not keys:
                    continue
                at += 1
                cells = (label(text), label(keys), label(tip, "muted"))
                for column, cell in enumerate(cells):
                    grid.addWidget(cell, at, column)
                mine.append(len(self._rows))
                self._rows.append((f"{name} {text} {keys} {tip}".lower(), cells))
            self._titles.append((title, mine))
            at += 1
        return content

    def _filter(self, typed: str) -> None:
        words = typed.lower().split()
        shown = [all(word in text for word in words) for text, _ in self._rows]
        for is_shown, (_, cells) in zip(shown, self._rows, strict=True):
            for cell in cells:
                cell.setVisible(is_shown)
        for title, rows in self._titles:
            title.setVisible(any(shown[row] for row in rows))


def _row(command: Command) -> Row:
    return plain_text(command), keys_text(command), command.tip
