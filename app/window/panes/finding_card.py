"""One mistake that a debug run found: its name and line, the code, the evidence and the cure."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout

from roofscope.app.presentation.debugging.words import finding_title
from roofscope.app.window.widgets.fixed_font import fixed_font
from roofscope.app.window.widgets.labels import label, tip_text
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.debugging import Finding

_MOST_CODE = 200  # letters of the line that are shown


class FindingCard(QFrame):
    """A click or Enter opens its line."""

    opened = Signal(object)  # Finding

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.finding = finding
        self.setProperty("role", "card")
        title = finding_title(finding)
        self.setAccessibleName(title)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 10)
        column.setSpacing(4)
        column.addWidget(label(title, "limit", wraps=True))
        if finding.where and finding.where.code:
            code = label(one_line(finding.where.code)[:_MOST_CODE], "code", wraps=True)
            code.setFont(fixed_font())
            column.addWidget(code)
        column.addWidget(label(one_line(finding.evidence), wraps=True))
        if finding.cure:
            column.addWidget(label(f"Cure: {one_line(finding.cure)}", "muted", wraps=True))
        self._can_open = finding.where is not None
        if self._can_open:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.setToolTip(tip_text(f"Show line {finding.where.number} of {finding.where.name}"))  # type: ignore[union-attr]
        self._let_clicks_through()

    def _let_clicks_through(self) -> None:
        for child in self.findChildren(QFrame):
            child.installEventFilter(self)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """A click on a label that marks nothing is one on the card."""
        if event.type() is QEvent.Type.MouseButtonRelease and not getattr(watched, "hasSelectedText", bool)():
            self._open()
        return False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._open()
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._open()
        else:
            super().keyPressEvent(event)

    def _open(self) -> None:
        if self._can_open:
            self.opened.emit(self.finding)
