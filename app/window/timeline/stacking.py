"""Which traces stand below the shown one, on one scale of time."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from roofscope.app.presentation.timeline.source import TraceSource
from roofscope.app.window.widgets.labels import tip_text

_MOST = 24  # in a menu; a session with more has the newest of them


class StackButton(QPushButton):
    """A menu of traces with ticks."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Stack...", parent)
        self.setAccessibleName("Stack other traces below this one")
        self.setToolTip(tip_text("Show other traces below this one, aligned where the GPU's work begins"))
        self._menu = QMenu(self)
        self._menu.setAccessibleName("Traces to stack")
        self.setMenu(self._menu)
        self._offered: tuple[TraceSource, ...] = ()
        self._ticked: tuple[TraceSource, ...] = ()

    @property
    def chosen(self) -> tuple[TraceSource, ...]:
        """In the order in which they were ticked."""
        return self._ticked

    def offer(self, shown: TraceSource | None, sources: Sequence[TraceSource]) -> None:
        offered = tuple(one for one in dict.fromkeys(sources) if one != shown)[-_MOST:]
        self._ticked = tuple(one for one in self._ticked if one in sources)
        self.setEnabled(shown is not None and bool(offered))
        if offered != self._offered:
            self._offered = offered
            self._fill()

    def tick(self, source: TraceSource, *, is_ticked: bool) -> None:
        others = tuple(one for one in self._ticked if one != source)
        self._ticked = (*others, source) if is_ticked else others
        self.changed.emit()

    def leave_out(self, source: TraceSource) -> None:
        """It cannot be read."""
        self._ticked = tuple(one for one in self._ticked if one != source)
        self._fill()

    def _fill(self) -> None:
        self._menu.clear()
        for source in self._offered:
            action = self._menu.addAction(source.title.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(source in self._ticked)
            action.toggled.connect(lambda is_on, one=source: self.tick(one, is_ticked=is_on))
