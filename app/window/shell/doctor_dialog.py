"""The doctor: what is available here, what is missing, the exact fix."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.panes.proof import ProofPane
from roofscope.app.window.widgets.icons import icon_pixmap
from roofscope.app.window.widgets.labels import label
from roofscope.app.window.widgets.scroll_list import ScrollList
from roofscope.profiling.doctor import Check, CheckState

_ICONS = {
    CheckState.OK: "circle-check",
    CheckState.WARNING: "triangle-alert",
    CheckState.MISSING: "circle-x",
}


class DoctorDialog(QDialog):
    """Opens at once and fills when the checks are done; the window stays usable beside it."""

    def __init__(self, theme: Theme, proofs: ProofPane, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setWindowTitle("Doctor")
        self.setAccessibleName("Doctor: what is available here, what is missing, and what is proved")
        self.resize(760, 600)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._summary = label("Looking at this machine...", "title", wraps=True)
        self._list = ScrollList("Checks")
        close = QPushButton("Close")
        close.setAccessibleName("Close")
        close.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(close)
        checks = QWidget()
        inside = QVBoxLayout(checks)
        inside.setSpacing(10)
        inside.addWidget(self._summary)
        inside.addWidget(self._list, 1)
        self.tabs = QTabWidget()
        self.tabs.addTab(checks, "This machine")
        self.tabs.addTab(proofs, "Proofs")
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(self.tabs, 1)
        layout.addLayout(buttons)

    def show_checks(self, checks: Sequence[Check]) -> None:
        if not isValid(self):
            return  # closed before the answer came
        missing = [check for check in checks if check.state is not CheckState.OK]
        self._summary.setText(
            f"{len(missing)} of {len(checks)} things want attention" if missing else "Everything is here"
        )
        order = (CheckState.MISSING, CheckState.WARNING, CheckState.OK)
        for check in sorted(checks, key=lambda check: order.index(check.state)):
            self._list.add(self._row(check))

    def _row(self, check: Check) -> QWidget:
        colour = {
            CheckState.OK: self._theme.good,
            CheckState.WARNING: self._theme.warning,
            CheckState.MISSING: self._theme.bad,
        }[check.state]
        mark = QLabel()
        mark.setPixmap(icon_pixmap(_ICONS[check.state], colour, 18, self.devicePixelRatioF()))
        mark.setAccessibleName(str(check.state))
        name = label(check.name)
        name.setFixedWidth(130)
        name.setWordWrap(True)
        text = QVBoxLayout()
        text.setSpacing(4)
        text.addWidget(label(check.finding, wraps=True))
        if check.fix:
            text.addLayout(_fix(check))
        text.addStretch(1)
        entry = QWidget()
        row = QHBoxLayout(entry)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(name, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(text, 1)
        return entry


def _fix(check: Check) -> QHBoxLayout:
    fix = label(check.fix, "code", wraps=True)
    fix.setAccessibleName(f"Fix for {check.name}")
    copy = QPushButton("Copy")
    copy.setAccessibleName(f"Copy the fix for {check.name}")
    copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(check.fix))
    row = QHBoxLayout()
    row.setSpacing(6)
    row.addWidget(fix, 1)
    row.addWidget(copy, 0, Qt.AlignmentFlag.AlignTop)
    return row
