"""Reads the traces of a timeline in threads, tells how far it is, and keeps those that are shown."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.timeline.rows import Track, track_of
from roofscope.app.presentation.timeline.source import TraceSource, read_or_say
from roofscope.app.window.background import Background
from roofscope.profiling.traces.totals import KernelRow, TraceTotals

if TYPE_CHECKING:
    from roofscope.profiling.traces.averages import OperatorRow


class LoadedTrace(Struct, frozen=True, eq=False):
    source: TraceSource
    track: Track
    totals: TraceTotals
    operators: tuple[KernelRow, ...]  # of a trace without work of a GPU
    averages: "tuple[OperatorRow, ...]"


class _NotWanted(Exception):
    """Ends the reading of a trace that nobody waits for any more."""


class TraceLoading(QObject):
    """``came`` follows once for each source that was asked for: a LoadedTrace, or a sentence."""

    came = Signal(object, object)  # TraceSource, LoadedTrace | str
    progressed = Signal(object, float)  # TraceSource, 0 to 1; from the thread that reads

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = background
        self._kept: dict[TraceSource, LoadedTrace | str] = {}
        self._wanted: frozenset[TraceSource] = frozenset()
        self._asked: set[TraceSource] = set()

    def want(self, sources: Sequence[TraceSource]) -> None:
        """Read what is not there; let go of what is no longer wanted."""
        self._wanted = frozenset(sources)
        self._kept = {source: kept for source, kept in self._kept.items() if source in self._wanted}
        for source in sources:
            if source not in self._kept and source not in self._asked:
                self._asked.add(source)
                drop = partial(self._asked.discard, source)
                self._background.ask(self._question(source), self._deliver, drop)

    def get(self, source: TraceSource) -> LoadedTrace | str | None:
        """None while it is read."""
        return self._kept.get(source)

    def _question(self, source: TraceSource) -> Callable[[], tuple[TraceSource, LoadedTrace | str | None]]:
        def tell(share: float) -> None:
            if source not in self._wanted:
                raise _NotWanted
            self.progressed.emit(source, share)

        def question() -> tuple[TraceSource, LoadedTrace | str | None]:
            try:
                found = read_or_say(source, tell)
            except _NotWanted:
                return source, None
            if isinstance(found, str):
                return source, found
            from roofscope.profiling.traces.averages import operator_averages  # not at the start
            from roofscope.profiling.traces.operators import operator_rows
            from roofscope.profiling.traces.summary import totals_of

            totals = totals_of(found)
            operators = () if totals.kernels else operator_rows(found)
            averages, track = operator_averages(found), track_of(found, source.title)
            return source, LoadedTrace(source, track, totals, operators, averages)

        return question

    def _deliver(self, answer: tuple[TraceSource, LoadedTrace | str | None]) -> None:
        source, found = answer
        self._asked.discard(source)
        if source not in self._wanted:
            return
        if found is None:  # it was given up, and is wanted once more meanwhile
            self.want(tuple(self._wanted))
            return
        self._kept[source] = found
        self.came.emit(source, found)
