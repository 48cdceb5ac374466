"""The one filter that chart, table and library share."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.view_filter import ViewFilter, search_text
from roofscope.app.window.session_model import SessionModel
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.results.session import Point

_MOST_STEPS = 100


class ShownPoints(QObject):
    """Holds the filter; whatever a pane lets the user hide or isolate, every pane follows.

    Made before the panes: of a point that arrives it knows first whether it is shown.
    """

    changed = Signal(object)  # ViewFilter

    def __init__(
        self,
        model: SessionModel,
        parent: QObject | None = None,
        text_of: Callable[[Point], str] | None = None,
        numbers_kept: Callable[[ViewFilter], frozenset[int]] | None = None,
    ) -> None:
        """``text_of`` gives what words are looked for in, ``numbers_kept`` what a filter lets through.

        Both where somebody keeps the words; else the filter is asked for each point.
        """
        super().__init__(parent)
        self._model = model
        self._filter = ViewFilter()
        self._before: list[ViewFilter] = []
        self._numbers: frozenset[int] | None = None
        self._text_of = text_of or self._made_text
        self._numbers_kept = numbers_kept or self._each_asked
        model.replaced.connect(self.forget)
        model.ceilings_changed.connect(self.read_again)
        model.marks_changed.connect(self.read_again)
        model.point_added.connect(self._add)

    @property
    def filter(self) -> ViewFilter:
        return self._filter

    @property
    def numbers(self) -> frozenset[int] | None:
        """Of the points shown; None for all."""
        return self._numbers

    def keeps(self, number: int) -> bool:
        return self._numbers is None or number in self._numbers

    def show(self, wanted: ViewFilter) -> None:
        """A step of the user. What is typed is one step, however many keys it takes."""
        if wanted == self._filter:
            return
        typed = ViewFilter.__struct_fields__[:-1]
        is_typing = self._before and all(getattr(wanted, n) == getattr(self._filter, n) for n in typed)
        if not (is_typing and self._filter.text):
            self._before = [*self._before[-_MOST_STEPS:], self._filter]
        self._take(wanted)

    def step_back(self) -> bool:
        """Undo the last step; False where everything is shown already."""
        if self._filter.is_open:
            return False
        self._take(self._before.pop() if self._before else ViewFilter())
        return True

    def forget(self) -> None:
        """Show everything, and know no step: of another session."""
        self._take(ViewFilter())

    def _take(self, wanted: ViewFilter) -> None:
        if wanted.is_open:
            self._before = []  # else a step back would filter again
        is_new = wanted != self._filter
        self._filter = wanted
        self._find()
        if is_new:
            self.changed.emit(wanted)

    def _find(self) -> None:
        self._numbers = None if self._filter.is_open else self._numbers_kept(self._filter)

    def _each_asked(self, wanted: ViewFilter) -> frozenset[int]:
        points = self._model.session.points
        return frozenset(point.number for point in points if wanted.keeps(point, self._text_of))

    def _add(self, point: Point) -> None:
        if self._numbers is not None and self._filter.keeps(point, self._text_of):
            self._numbers |= {point.number}

    def read_again(self) -> None:
        """Words are looked for in verdicts, which rest on the ceilings, and in notes and tags."""
        if self._filter.text:
            before = self._numbers
            self._find()
            if self._numbers != before:
                self.changed.emit(self._filter)

    def _made_text(self, point: Point) -> str:
        session = self._model.session
        return search_text(point, verdict(point, session), self._model.mark(point.number))
