"""The one filter that chart, table and library share."""

from collections.abc import Callable

from msgspec import Struct
from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.search_text import search_text
from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.app.window.session_model import SessionModel
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.results.session import Point

_MOST_STEPS = 100


class Shown(Struct, frozen=True):
    """What is shown, and the filters of before that Esc goes back to."""

    view: ViewFilter = ViewFilter()
    before: tuple[ViewFilter, ...] = ()
    step_number: int = 0


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
        self._before: tuple[ViewFilter, ...] = ()  # to which Esc goes back
        self._step_number = 0
        self._start = Shown()  # of the last step
        self._numbers: frozenset[int] | None = None
        self._text_of = text_of or self._made_text
        self._numbers_kept = numbers_kept or self._each_asked
        model.replaced.connect(self.forget)
        model.ceilings_changed.connect(self.read_again)
        model.marks_changed.connect(self.read_again)
        model.point_added.connect(self._add)
        model.points_changed.connect(self._points_changed)

    @property
    def filter(self) -> ViewFilter:
        return self._filter

    @property
    def numbers(self) -> frozenset[int] | None:
        """Of the points shown; None for all."""
        return self._numbers

    def keeps(self, number: int) -> bool:
        return self._numbers is None or number in self._numbers

    @property
    def state(self) -> Shown:
        """All that ``restore`` needs to come back to here."""
        return Shown(self._filter, self._before, self._step_number)

    @property
    def step_number(self) -> int:
        """Of the user's last step: while it stays, what changes belongs to that one."""
        return self._step_number

    def show(self, wanted: ViewFilter) -> None:
        """A step of the user. What is typed is one step, however many keys it takes."""
        if wanted == self._filter:
            return
        typed = ViewFilter.__struct_fields__[:-1]
        is_typing = self._before and all(getattr(wanted, n) == getattr(self._filter, n) for n in typed)
        if not (is_typing and self._filter.text):
            self._begin_step()
            self._before = (*self._before[-_MOST_STEPS:], self._filter)
        self._take(wanted)

    def show_instead(self, wanted: ViewFilter) -> None:
        """The last step leads here: a double click was a click first."""
        start = self._start
        self._before = start.before if wanted == start.view else (*start.before, start.view)
        self._take(wanted)

    def show_all(self) -> None:
        self.show(ViewFilter())

    def step_back(self) -> bool:
        """Esc: show what was shown before the last step; False where everything is shown already."""
        if self._filter.is_open:
            return False
        self._begin_step()
        *before, wanted = self._before or (ViewFilter(),)
        self._before = tuple(before)
        self._take(wanted)
        return True

    def restore(self, state: Shown) -> bool:
        """Be as it was then; no step by itself."""
        self._before = state.before
        self._take(state.view)
        return True

    def forget(self) -> None:
        """Show everything, and know no step: of another session."""
        self._take(ViewFilter())

    def _begin_step(self) -> None:
        self._start = self.state
        self._step_number += 1

    def _take(self, wanted: ViewFilter) -> None:
        if wanted.is_open:
            self._before = ()  # else a step back would filter again
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

    def _points_changed(self) -> None:
        self._find()
        self.changed.emit(self._filter)

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
