"""Which implementations of a session were measured in several values of their parameters, and where."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from roofscope.app.presentation.formatting import size_and_fill_text
from roofscope.app.presentation.sweep.known import shown_points
from roofscope.profiling.planning.parameters import Value
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Distribution, Dtype, Workload
from roofscope.profiling.results.session import Point, Session

Values = dict[str, Value]


class Subject(Struct, frozen=True):
    """An implementation on one workload: what a grid is of."""

    kernel: str
    stem: str
    dtype: Dtype
    sizes: tuple[tuple[str, int], ...]
    fill: Distribution
    regime: Regime

    @property
    def key(self) -> str:
        return f"{self.kernel}/{self.stem}"

    @property
    def workload_text(self) -> str:
        regime = "" if self.regime is Regime.BURST else f", {self.regime}"
        workload = Workload(self.kernel, self.dtype, dict(self.sizes), self.fill)
        return f"{self.dtype.label} {size_and_fill_text(workload)}{regime}"

    @property
    def text(self) -> str:
        return f"{self.key} {self.workload_text}"


def subject_of(point: Point) -> Subject:
    workload = point.job.workload
    sizes = tuple(workload.sizes.items())
    return Subject(
        workload.kernel, point.implementation.stem, workload.dtype, sizes, workload.fill, point.job.regime
    )


def values_of(point: Point) -> Values:
    return {one.name: one.value for one in point.implementation.parameters}


def subjects_of(session: Session) -> dict[Subject, tuple[Point, ...]]:
    """With the newest point of each variant; those in several values first, the newest of them first."""
    found: dict[Subject, list[Point]] = {}
    for point in shown_points(session):
        if point.implementation.parameters:
            found.setdefault(subject_of(point), []).append(point)
    newest = {subject: _newest(points) for subject, points in found.items()}
    return {
        subject: newest[subject]
        for subject in sorted(newest, key=lambda one: (len(newest[one]) < 2, -newest[one][-1].number))
    }


def tried(points: Iterable[Point]) -> dict[str, tuple[Value, ...]]:
    """Of each parameter the values that were tried: numbers as they grow, others in the order declared."""
    points = tuple(points)
    if not points:
        return {}
    declared = points[-1].implementation.parameters
    used = {one.name: {values_of(point).get(one.name) for point in points} for one in declared}
    return {
        one.name: tuple(value for value in _along_axis(one.choices) if value in used[one.name])
        for one in declared
    }


def _along_axis(choices: Sequence[Value]) -> Sequence[Value]:
    """The default is declared first, wherever it lies."""
    numbers = [value for value in choices if isinstance(value, int | float) and not isinstance(value, bool)]
    return sorted(numbers) if len(numbers) == len(choices) else choices


def _newest(points: Sequence[Point]) -> tuple[Point, ...]:
    """Of each variant, of the files and the choices as they were last."""
    last = points[-1].implementation
    of_file = [point for point in points if point.implementation.source_hash == last.source_hash]
    found: dict[str, Point] = {}
    for point in of_file:
        found.pop(point.implementation.key, None)
        found[point.implementation.key] = point
    return tuple(found.values())
