"""Messages that do not stop the work: a line of notices, the example's card, the card of a lost worker."""

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.notices import NoticeBoard, Topic
from roofscope.app.window.panes.notice_line import NoticeLine
from roofscope.app.window.widgets.fixed_font import fixed_font
from roofscope.app.window.widgets.icons import icon, icon_pixmap
from roofscope.app.window.widgets.labels import card, label
from roofscope.profiling.supervision.run_events import WorkerLost

_MOST_LOG_LINES = 6


class CardColumn(QWidget):
    """Cards above the chart; empty it takes no room.

    Of several notices only the newest shows, and a log only when asked for: the chart comes first.
    """

    restart_asked = Signal()
    retry_asked = Signal()  # what the lost worker was at, paused since then
    measure_asked = Signal()
    example_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.board = NoticeBoard(self)
        self._line = NoticeLine(self.board, theme)
        self._lost: _Card | None = None
        self._example: _Card | None = None
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(8, 6, 8, 0)
        self._layout.setSpacing(4)
        self._layout.addWidget(self._line)
        self.board.changed.connect(self._show_or_hide)
        self._show_or_hide()

    @property
    def notice_texts(self) -> list[str]:
        return [notice.text for notice in self.board.notices]

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for shown in (self._line, self._lost, self._example):
            if shown:
                shown.set_theme(theme)

    def notice(self, text: str, topic: Topic = Topic.PROGRAM) -> None:
        """Show one sentence until it is closed, or until its topic is settled."""
        self.board.add(text, topic)

    def worker_lost(self, report: WorkerLost) -> None:
        """One card: a later loss takes the place of an earlier one."""
        self.forget_worker()
        more = " A new worker goes on with the rest of the run." if report.restarting else ""
        added = _Card(report.message + more, "bad", "circle-alert", self._theme)
        added.setObjectName("workerCard")
        if not report.restarting:
            added.add_button("Restart", self.restart_asked.emit)
        if report.log_tail.strip():
            added.add_log(report.log_tail)
        self._lost = self._add(added)

    def offer_retry(self) -> None:
        """The run is over, and the implementation that cost its worker is paused."""
        if self._lost:
            self._lost.add_button("Try again", self.retry_asked.emit)

    def forget_worker(self) -> None:
        if self._lost:
            self._close(self._lost)

    def show_example(self, text: str | None) -> None:
        """Say that what is shown was recorded elsewhere; None takes the card away."""
        self._show_card(text, "Measure this machine", self.measure_asked)

    def offer_example(self, text: str) -> None:
        """Where nothing is shown yet, the way to what this looks like with results."""
        self._show_card(text, "Open the example", self.example_asked)

    def _show_card(self, text: str | None, button: str, asked: SignalInstance) -> None:
        if self._example:
            self._close(self._example)
        if text:
            added = _Card(text, "example", "info", self._theme)
            added.add_button(button, asked.emit, is_default=True)
            self._example = self._add(added)

    def _add(self, added: "_Card") -> "_Card":
        added.closed.connect(lambda: self._close(added))
        self._layout.addWidget(added)
        self.show()
        return added

    def _close(self, closed: "_Card") -> None:
        self._layout.removeWidget(closed)
        closed.hide()
        closed.deleteLater()
        if closed is self._lost:
            self._lost = None
        if closed is self._example:
            self._example = None
        self._show_or_hide()

    def _show_or_hide(self) -> None:
        self._line.setVisible(bool(self.board.notices))
        self.setVisible(bool(self.board.notices or self._lost or self._example))


class _Card(QWidget):
    closed = Signal()

    def __init__(self, text: str, state: str, icon_name: str, theme: Theme) -> None:
        super().__init__()
        self.text = text
        self._state, self._icon_name = state, icon_name
        self._frame: QFrame = card(state)
        self._icon = QLabel()
        message = label(text, wraps=True)
        self._close_button = QToolButton()
        self._close_button.setAccessibleName("Close this message")
        self._close_button.setToolTip("Close this message")
        self._close_button.clicked.connect(self.closed)
        self._line = QHBoxLayout()
        self._line.setSpacing(8)
        self._line.addWidget(self._icon)
        self._line.addWidget(message, 1)
        self._line.addWidget(self._close_button)
        self._body = QVBoxLayout(self._frame)
        self._body.setContentsMargins(10, 3, 4, 3)
        self._body.setSpacing(6)
        self._body.addLayout(self._line)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._frame)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        colour = {"bad": theme.bad, "example": theme.accent}.get(self._state, theme.warning)
        self._icon.setPixmap(icon_pixmap(self._icon_name, colour, 18, self.devicePixelRatioF()))
        self._close_button.setIcon(icon("x", theme))

    def add_button(self, text: str, act: object, *, is_default: bool = False) -> None:
        button = QPushButton(text)
        button.setAccessibleName(text)
        button.setDefault(is_default)
        button.clicked.connect(act)
        self._line.insertWidget(self._line.count() - 1, button)

    def add_log(self, text: str) -> None:
        """Buttons that open and copy the end of the log; closed it takes no room from the chart."""
        log = QPlainTextEdit(text.rstrip())
        log.setReadOnly(True)
        log.setAccessibleName("End of the worker's log")
        log.setFont(fixed_font())
        log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        lines = min(_MOST_LOG_LINES, log.blockCount() + 1)
        log.setFixedHeight(lines * log.fontMetrics().lineSpacing() + 16)
        log.moveCursor(log.textCursor().MoveOperation.End)
        log.hide()
        self._body.addWidget(log)

        def toggle() -> None:
            log.setVisible(not log.isVisible())

        self.add_button("Log", toggle)
        self.add_button("Copy log", lambda: QGuiApplication.clipboard().setText(text))
