"""The settings: one line each with a sentence, a search above, and the plain file that holds them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.window.widgets.choice_box import ChoiceBox
from roofscope.app.window.widgets.labels import label
from roofscope.app.window.widgets.scroll_list import ScrollList
from roofscope.profiling.plain_text import one_line


class Setting(Struct, frozen=True):
    """One line of the dialog: what it is, in a sentence what it does, and how it is changed."""

    name: str
    sentence: str
    control: QWidget


class SettingsDialog(QDialog):
    """What is changed holds at once; there is nothing to confirm."""

    def __init__(self, settings: Sequence[Setting], file: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Settings")
        self.setAccessibleName("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(680, 520)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search the settings")
        self.search.setAccessibleName("Search the settings")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        listed = ScrollList("Settings")
        self.rows = [(f"{one.name} {one.sentence}".lower(), _row(one)) for one in settings]
        for _, row in self.rows:
            listed.add(row)
        self._nothing = label("No setting matches.", "muted")
        self._nothing.hide()
        listed.add(self._nothing)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(10)
        layout.addWidget(self.search)
        layout.addWidget(listed, 1)
        layout.addLayout(_file_line(file))
        layout.addWidget(button("Close", self.accept), 0, Qt.AlignmentFlag.AlignRight)

    def _filter(self, typed: str) -> None:
        words = typed.lower().split()
        any_shown = False
        for text, row in self.rows:
            is_shown = all(word in text for word in words)
            row.setVisible(is_shown)
            any_shown |= is_shown
        self._nothing.setVisible(not any_shown)


def choice(name: str, texts: Sequence[str], chosen: int, take: Callable[[int], object]) -> QComboBox:
    box = ChoiceBox()
    box.addItems(list(texts))
    box.setCurrentIndex(chosen)
    box.setAccessibleName(name)
    box.activated.connect(take)
    return box


def switch(name: str, is_on: bool, take: Callable[[bool], object]) -> QCheckBox:
    box = QCheckBox()
    box.setChecked(is_on)
    box.setAccessibleName(name)
    box.toggled.connect(take)
    return box


def factor(name: str, value: float, most: float, take: Callable[[float], object]) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setRange(1.0, most)
    box.setDecimals(1)
    box.setSuffix(" ×")
    box.setValue(value)
    box.setAccessibleName(name)
    box.setKeyboardTracking(False)
    box.setMinimumHeight(28)
    box.valueChanged.connect(take)
    return box


def button(text: str, act: Callable[[], object], name: str = "") -> QPushButton:
    made = QPushButton(text)
    made.setAccessibleName(name or text)
    made.setAutoDefault(False)
    made.clicked.connect(lambda _checked=False: act())
    return made


def _row(setting: Setting) -> QWidget:
    row = QWidget()
    line = QHBoxLayout(row)
    line.setContentsMargins(0, 0, 0, 0)
    line.setSpacing(16)
    text = QVBoxLayout()
    text.setSpacing(2)
    name = label(setting.name, "proof")
    name.setBuddy(setting.control)
    text.addWidget(name)
    text.addWidget(label(setting.sentence, "muted", wraps=True))
    line.addLayout(text, 1)
    line.addWidget(setting.control, 0, Qt.AlignmentFlag.AlignVCenter)
    return row


def _file_line(file: Path) -> QHBoxLayout:
    path = label(one_line(str(file)), "muted", wraps=True)
    path.setAccessibleName("The file that holds the settings")
    copy = button("Copy path", lambda: QGuiApplication.clipboard().setText(str(file)))
    opened = button("Open the file", lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(file))))
    line = QHBoxLayout()
    line.setSpacing(8)
    line.addWidget(path, 1)
    line.addWidget(copy)
    line.addWidget(opened)
    return line
