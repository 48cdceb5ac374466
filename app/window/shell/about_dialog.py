"""About: version, licences of what is used, and all of it to copy into a report."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from roofscope import __version__
from roofscope.app.presentation.about import LICENCE, SENTENCE, about_text, machine_text, used
from roofscope.app.window.widgets.icons import application_icon
from roofscope.app.window.widgets.labels import label
from roofscope.app.window.widgets.scroll_list import ScrollList


class AboutDialog(QDialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("About Roofscope")
        self.setAccessibleName("About Roofscope")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(600, 520)
        picture = QLabel()
        picture.setPixmap(application_icon().pixmap(64, 64))
        text = QVBoxLayout()
        text.setSpacing(4)
        text.addWidget(label(f"Roofscope {__version__}", "title"))
        text.addWidget(label(SENTENCE, wraps=True))
        text.addWidget(label(f"{LICENCE}. {machine_text()}", "muted", wraps=True))
        head = QHBoxLayout()
        head.setSpacing(16)
        head.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(text, 1)
        listed = ScrollList("What Roofscope uses, and its licences")
        listed.add(_grid())
        copy = QPushButton("Copy")
        copy.setAccessibleName("Copy versions and licences")
        copy.setAutoDefault(False)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(about_text()))
        close = QPushButton("Close")
        close.setAccessibleName("Close")
        close.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addWidget(copy)
        buttons.addStretch(1)
        buttons.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 12)
        layout.setSpacing(12)
        layout.addLayout(head)
        layout.addWidget(listed, 1)
        layout.addLayout(buttons)


def _grid() -> QWidget:
    content = QWidget()
    grid = QGridLayout(content)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(20)
    grid.setVerticalSpacing(4)
    grid.setColumnStretch(3, 1)
    for row, one in enumerate(used()):
        version = one.version or ("" if one.why.startswith("shipped") else "not here")
        for column, (text, role) in enumerate(
            ((one.name, ""), (version, "muted"), (one.licence, ""), (one.why, "muted"))
        ):
            grid.addWidget(label(text, role), row, column)
    return content
