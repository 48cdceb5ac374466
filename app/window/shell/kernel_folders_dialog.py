"""Folders of kernels of the user's own: which are used, and what a new one would run."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from roofscope.app.window.kernel_folders import FolderState
from roofscope.app.window.widgets.labels import label, placeholder
from roofscope.app.window.widgets.scroll_list import ScrollList
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.one_file.form import is_form
from roofscope.profiling.planning.survey import ListedFolder, Survey, user_name
from roofscope.profiling.planning.trust import what_runs, whose

_MOST_LISTED = 200  # kernels of one folder


class KernelFoldersDialog(QDialog):
    """Lists the recorded folders; the window stays usable beside it."""

    add_asked = Signal()
    trust_asked = Signal(object)  # Survey
    removed = Signal(object)  # Path

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Kernel folders")
        self.setAccessibleName("Kernel folders")
        self.resize(640, 420)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        intro = label(
            "Kernels are programs, and run with all that you may do. A folder is used once you trust it, and "
            "asked for again when files of another owner appear in it.",
            "muted",
            wraps=True,
        )
        self._list = ScrollList("Kernel folders")
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(intro)
        layout.addWidget(self._list, 1)
        layout.addLayout(
            _buttons(_button("Add folder...", self.add_asked.emit), _button("Close", self.accept))
        )

    def show_folders(self, states: Sequence[FolderState]) -> None:
        self._list.clear()
        for state in states:
            self._list.add(self._row(state))
        if not states:
            self._list.add(placeholder("Only the program's own kernels are used."))

    def _row(self, state: FolderState) -> QWidget:
        text = QVBoxLayout()
        text.setSpacing(2)
        text.addWidget(label(printable(state.path), wraps=True))
        if state.why_not:
            text.addWidget(label(f"Not used: {state.why_not}.", "warning", wraps=True))
        elif state.survey:
            text.addWidget(label(f"{what_runs(state.survey)} of code", "muted", wraps=True))
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.addLayout(text, 1)
        if state.why_not and state.survey:
            found = state.survey
            line.addWidget(_button("Look...", lambda: self.trust_asked.emit(found), f"Look at {state.path}"))
        line.addWidget(_button("Remove", lambda: self.removed.emit(state.path), f"Remove {state.path}"))
        return row


class TrustDialog(QDialog):
    """What of a folder would run, and whose it is; nothing of it has been opened."""

    trusted = Signal(object)  # Survey

    def __init__(self, found: Survey, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        question = f"Trust this {'file' if is_form(found.folder) else 'folder'}?"
        self.setWindowTitle(question)
        self.setAccessibleName(question)
        self.resize(600, 460)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        reason = whose(found)
        owner = f"{reason[0].upper()}{reason[1:]}." if reason else f"It belongs to {user_name(found.owner)}."
        listed = ScrollList("What would run")
        for kernel in found.kernels[:_MOST_LISTED]:
            listed.add(_entry(kernel))
        if (more := len(found.kernels) - _MOST_LISTED) > 0:
            listed.add(label(f"and {more} more", "muted"))
        not_now = _button("Not now", self.reject)
        not_now.setDefault(True)
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addWidget(label(question, "title"))
        layout.addWidget(label(printable(found.folder), "code", wraps=True))
        layout.addWidget(label(owner, "warning" if reason else "", wraps=True))
        runs = f"{what_runs(found)} of code would run with all that you may do:"
        layout.addWidget(label(runs, wraps=True))
        layout.addWidget(listed, 1)
        layout.addLayout(_buttons(_button("Trust", lambda: self._trust(found)), not_now))

    def _trust(self, found: Survey) -> None:
        self.accept()
        self.trusted.emit(found)


def _entry(kernel: ListedFolder) -> QWidget:
    entry = QWidget()
    column = QVBoxLayout(entry)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(2)
    column.addWidget(label(kernel.name, "proof"))
    column.addWidget(label(", ".join(kernel.files), "muted", wraps=True))
    return entry


def _buttons(*buttons: QPushButton) -> QHBoxLayout:
    line = QHBoxLayout()
    line.addStretch(1)
    for button in buttons:
        line.addWidget(button)
    return line


def _button(text: str, act: Callable[[], object], name: str = "") -> QPushButton:
    button = QPushButton(text)
    button.setAccessibleName(printable(name or text))
    button.setAutoDefault(False)
    button.clicked.connect(lambda _checked=False: act())
    return button
