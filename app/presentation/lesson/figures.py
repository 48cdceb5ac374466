"""What a session says of each step of a story, on one workload."""

from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.lesson.excerpt import Excerpt, excerpt_of
from roofscope.app.presentation.point_columns import COLUMNS, Column
from roofscope.app.presentation.point_row import PointRow, reason_text
from roofscope.profiling.analysis.comparison import Baselines
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Implementation, Provider, Workload
from roofscope.profiling.planning.story import Step, Story
from roofscope.profiling.results.session import Point, Session

_COLUMN_OF = {column.title: column for column in COLUMNS}
ALWAYS = ("Time", "Of roof", "Speed-up")  # what every step is looked at by
NOT_THERE = "not in this session"


class Figure(Struct, frozen=True):
    """``is_looked_at``: the one that the step is about."""

    title: str
    text: str
    tip: str = ""
    is_looked_at: bool = False


class StepView(Struct, frozen=True):
    """A step with its point and figures, of which there are none where the session has no such point."""

    number: int
    step: Step
    point: Point | None
    figures: tuple[Figure, ...]
    note: str  # why there is no time; "" where there is one
    excerpt: Excerpt | None

    @property
    def label(self) -> str:
        """As people call the implementation."""
        return self.point.implementation.label if self.point else _label(self.step.implementation)

    def text(self, title: str) -> str:
        return next((figure.text for figure in self.figures if figure.title == title), "")


class StoryView(Struct, frozen=True):
    """A story beside a session. ``workload`` is None where the session has nothing of its kernel."""

    story: Story
    workload: Workload | None
    steps: tuple[StepView, ...]
    baseline: StepView | None = None  # what speed-ups refer to, where it is no step

    @property
    def columns(self) -> tuple[str, ...]:
        """What a table of all steps shows: what every step is looked at by, and what some are about."""
        return _titles(self.story)

    @property
    def rows(self) -> tuple[StepView, ...]:
        """What a table of all steps shows."""
        return (self.baseline, *self.steps) if self.baseline else self.steps

    @property
    def measured_count(self) -> int:
        return sum(1 for step in self.steps if step.point and step.point.measured)


def story_view(
    story: Story, session: Session | None, kernel: Kernel | None = None, selected: Point | None = None
) -> StoryView:
    """The story on the workload of the selected point, else on the one that the most of its steps ran on."""
    points = _points(story, session)
    workload = _workload(story, points, selected)
    here = [point for point in points if point.job.workload == workload]
    found = {stem: _newest([p for p in here if p.implementation.stem == stem]) for stem in story.stems}
    baselines = Baselines(_beside(session, workload), Provider.EAGER)

    def viewed(number: int, step: Step, point: Point | None) -> StepView:
        figures: tuple[Figure, ...] = ()
        if session and point:
            row = PointRow(point, verdict(point, session), baselines.speed_up(point))
            figures = tuple(_figure(_COLUMN_OF[title], row, step) for title in _titles(story))
        note = NOT_THERE if point is None else "" if point.measured else reason_text(point)
        return StepView(number, step, point, figures, note, excerpt_of(session, point, kernel, step))

    steps = tuple(
        viewed(number, step, found[step.implementation]) for number, step in enumerate(story.steps, 1)
    )
    eager = _newest([p for p in _beside(session, workload) if p.implementation.stem == Provider.EAGER])
    if eager is None or Provider.EAGER in story.stems:
        return StoryView(story, workload, steps)
    return StoryView(story, workload, steps, viewed(0, Step(str(Provider.EAGER), "Baseline", ""), eager))


def heading(title: str) -> str:
    """A column's title in small letters, unless it is a unit."""
    return title if "/" in title else title.lower()


def why_unknown_figure(story: Story) -> str:
    """A sentence about a step that looks at no column of the results; "" if there is none."""
    odd = next((step.look for step in story.steps if step.look not in _COLUMN_OF), None)
    return f"{story.kernel}/story.toml looks at {odd!r}, which is no column of the results." if odd else ""


def _titles(story: Story) -> tuple[str, ...]:
    looked = (step.look for step in story.steps if step.look in _COLUMN_OF)
    return tuple(dict.fromkeys((*ALWAYS, *looked)))


def _figure(column: Column, row: PointRow, step: Step) -> Figure:
    return Figure(column.title, column.text(row), column.tip, column.title == step.look)


def _points(story: Story, session: Session | None) -> list[Point]:
    """Those that may be steps, on the device that is shown."""
    if session is None:
        return []
    return [
        point
        for point in session.points
        if point.implementation.kernel == story.kernel
        and point.implementation.stem in story.stems
        and point.job.regime is Regime.BURST
        and session.is_shown(point)
    ]


def _beside(session: Session | None, workload: Workload | None) -> list[Point]:
    """All points of the workload: the baseline need not be a step."""
    points = session.points if session else ()
    return [point for point in points if point.job.workload == workload]


def _workload(story: Story, points: Sequence[Point], selected: Point | None) -> Workload | None:
    if selected and selected.job.workload.kernel == story.kernel:
        chosen = selected.job.workload
        if any(point.job.workload == chosen for point in points):
            return chosen
    own = Workload(story.kernel, story.dtype, story.sizes)
    of_workload: dict[str, list[Point]] = {}
    for point in points:
        of_workload.setdefault(point.job.workload.label, []).append(point)

    def merit(found: list[Point]) -> tuple[int, bool, bool, int]:
        first = found[0].job
        measured = len({point.implementation.stem for point in found if point.measured})
        return measured, first.workload == own, first.workload.dtype is own.dtype, first.work.byte_count

    best = max(of_workload.values(), key=merit, default=None)
    return best[0].job.workload if best else None


def _newest(points: Sequence[Point]) -> Point | None:
    """The newest with a time, else the newest."""
    measured = [point for point in points if point.measured]
    return (measured or [*points] or [None])[-1]


def _label(stem: str) -> str:
    """Of an implementation that the session has no point of."""
    for provider in sorted(Provider, key=len, reverse=True):
        if stem == provider or stem.startswith(f"{provider}_"):
            return Implementation("", provider, stem.removeprefix(provider).lstrip("_"), "").label
    return stem
