"""What a grid shows: the time or share of each variant by the values of one or two parameters, not in pixels.

No Qt: the pane of the window, the SVG and the table on the terminal are all made from one scene.
"""

import math
from collections.abc import Container, Mapping, Sequence
from functools import partial

from msgspec import Struct

from roofscope.app.presentation.formatting import ratio_text, spread_time_text
from roofscope.app.presentation.grid.variants import (
    Subject,
    Values,
    subject_of,
    subjects_of,
    tried,
    values_of,
)
from roofscope.app.presentation.point_row import status_text
from roofscope.app.presentation.sweep.quantity import Quantity, Reader
from roofscope.app.presentation.sweep.scene import why_no_time
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.comparison import SpeedUp, speed_up
from roofscope.profiling.analysis.verdict import flags_of
from roofscope.profiling.planning.parameters import Value, value_text
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.session import Point, Session

NOT_TRIED = "not measured"
_SMALLER_IS_BETTER = (Quantity.TIME,)
QUANTITIES = (Quantity.TIME, Quantity.OF_ROOF, Quantity.FLOP_RATE, Quantity.BANDWIDTH)


class GridCell(Struct, frozen=True):
    """A variant at its place; without a number it was not measured, without a value it has a reason."""

    column: int
    row: int
    text: str
    number: int | None = None
    value: float | None = None
    share: float = 0.0  # of the way from the worst to the best
    reason: str = ""
    variant: str = ""  # every value: ``BLOCK=128 num_warps=8``
    is_best: bool = False
    is_default: bool = False
    warns: bool = False


class GridOptions(Struct, frozen=True):
    """What is asked for; None takes what suits the session best."""

    subject: Subject | None = None
    x: str | None = None
    y: str | None = None
    quantity: Quantity = Quantity.TIME
    fixed: dict[str, Value] = {}  # of parameters that are neither x nor y; else those of the best variant
    is_line: bool = False  # only x, though there is a second one


class GridScene(Struct, frozen=True):
    """One picture: a heat map of two parameters, or bars of one, whose ``y`` is "" then."""

    subject: Subject | None
    subjects: tuple[Subject, ...]
    quantity: Quantity
    x: str = ""
    y: str = ""
    names: tuple[str, ...] = ()  # of parameters with several values, to choose x and y from
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    cells: tuple[GridCell, ...] = ()
    fixed: str = ""  # the values of the others
    best: str = ""  # a sentence on the best variant
    second: str = ""  # and one on the next
    why_empty: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.cells

    @property
    def is_bars(self) -> bool:
        return not self.y

    def cell(self, number: int | None) -> GridCell | None:
        return next((cell for cell in self.cells if number is not None and cell.number == number), None)

    def at(self, column: int, row: int) -> GridCell | None:
        return next((cell for cell in self.cells if (cell.column, cell.row) == (column, row)), None)


def build_grid(session: Session, options: GridOptions = GridOptions()) -> GridScene:  # noqa: B008 - frozen
    """The grid of one implementation and workload on the device shown; the newest where none is named."""
    known = subjects_of(session)
    several = tuple(subject for subject, points in known.items() if len(points) > 1)
    subject = options.subject if options.subject in known else next(iter(several or known), None)
    if subject is None:
        return GridScene(None, (), options.quantity, why_empty=_NOTHING)
    points = known[subject]
    values = tried(points)
    names = tuple(sorted((name for name in values if len(values[name]) > 1), key=lambda n: -len(values[n])))
    if not names:
        return GridScene(
            subject, several, options.quantity, why_empty=_one_variant(subject, points[0].implementation)
        )
    x, y = _axes(names, options)
    reader = Reader(options.quantity, session, points, "")
    read = {point.number: reading.value for point in points if (reading := reader.read(point))}
    best = _best(points)
    fixed = _fixed(points, best, (x, y), options.fixed)
    shown = [point for point in points if all(values_of(point)[name] == at for name, at in fixed.items())]
    cells = _cells(session, shown, read, options.quantity, (x, y), values)
    said = _best_sentences(shown)
    return GridScene(
        subject,
        several,
        options.quantity,
        x,
        y,
        names,
        tuple(map(value_text, values[x])),
        tuple(map(value_text, values[y])) if y else ("",),
        cells,
        " ".join(f"{name}={value_text(value)}" for name, value in fixed.items() if len(values[name]) > 1),
        *said,
    )


def untried(scene: GridScene, point: Point, declared: Implementation) -> GridScene:
    """In the place of another's grid: of a point from before its file declared parameters."""
    subject = subject_of(point)
    return GridScene(subject, scene.subjects, scene.quantity, why_empty=_one_variant(subject, declared))


def _axes(names: Sequence[str], options: GridOptions) -> tuple[str, str]:
    """That with the most values goes along x."""
    wanted = options.x if options.x in names else None
    x = wanted or next((name for name in names if name != options.y), names[0])
    if options.is_line:
        return x, ""
    y = options.y if options.y in names and options.y != x else None
    return x, y or next((name for name in names if name != x), "")


def _fixed(
    points: Sequence[Point], best: Point | None, axes: tuple[str, str], wanted: Mapping[str, Value]
) -> Values:
    values = values_of(best or points[-1])
    at = {name: wanted.get(name, value) for name, value in values.items() if name not in axes}
    is_there = any(at.items() <= values_of(point).items() for point in points)
    return at if is_there else {name: values[name] for name in at}


def _cells(
    session: Session,
    points: Sequence[Point],
    read: Mapping[int, float],
    quantity: Quantity,
    axes: tuple[str, str],
    values: Mapping[str, Sequence[Value]],
) -> tuple[GridCell, ...]:
    x, y = axes
    best = _best(points)
    shares = _shares({point.number: read[point.number] for point in points if point.number in read}, quantity)
    by_place = {(values_of(point)[x], values_of(point)[y] if y else None): point for point in points}
    found: list[GridCell] = []
    for row, at_y in enumerate(values[y] if y else (None,)):
        for column, at_x in enumerate(values[x]):
            point = by_place.get((at_x, at_y))
            if point is None:
                found.append(GridCell(column, row, "", reason=NOT_TRIED))
                continue
            value = read.get(point.number)
            text = status_text(point) if point.measured is None else quantity.text(value)
            found.append(
                GridCell(
                    column,
                    row,
                    text,
                    point.number,
                    value,
                    shares.get(point.number, 0.0),
                    why_no_time(point),
                    " ".join(one.text for one in point.implementation.parameters),
                    is_best=best is not None and point.number == best.number,
                    is_default=not point.implementation.values,
                    warns=bool(point.measured) and not WARNING_FLAGS.isdisjoint(flags_of(point, session)),
                )
            )
    return tuple(found)


def _shares(values: Mapping[int, float], quantity: Quantity) -> dict[int, float]:
    """Of ratios, as times span decades: twice as slow is as far everywhere."""
    logs = {number: math.log(value) for number, value in values.items() if value > 0}
    if not logs:
        return {}
    low, high = min(logs.values()), max(logs.values())
    if high - low < 1e-9:
        return dict.fromkeys(logs, 1.0)
    shares = {number: (at - low) / (high - low) for number, at in logs.items()}
    return {n: 1 - share for n, share in shares.items()} if quantity in _SMALLER_IS_BETTER else shares


def _best(points: Sequence[Point]) -> Point | None:
    timed = [point for point in points if point.measured]
    return min(timed, key=_median_s, default=None)


def _median_s(point: Point) -> float:
    return point.measured.time.median_s if point.measured else math.inf


def _best_sentences(points: Sequence[Point]) -> tuple[str, str]:
    """On the best variant with its interval, and whether the next is known to be another."""
    timed = sorted((point for point in points if point.measured), key=_median_s)
    if not timed or not (measured := timed[0].measured):
        return "No variant here has a time.", ""
    first, *others = timed
    time, name = measured.time, partial(_name, varied=_varied(points))
    said = f"Best: {name(first)}, {spread_time_text(time.median_s, time.bounds_s, len(time.samples_s))}."
    # The fastest of equals is always fast by luck: it might have been any of them.
    count = len(others) + 1
    compared = [found for point in others if (found := speed_up(point, first, count * (count - 1) // 2))]
    alike = [one for one, found in zip(others, compared, strict=False) if not found.distinguishable]
    if alike:
        names = ", ".join(map(name, alike[:2]))
        more = f" and {len(alike) - 2} more" if len(alike) > 2 else ""
        return said, f"Not distinguishable from it: {names}{more}."
    return said, _next_sentence(name(others[0]), compared[0]) if compared else ""


def _next_sentence(name: str, found: SpeedUp) -> str:
    return f"Next: {name} takes {ratio_text(1 / found.ratio, 1 / found.high, 1 / found.low)} as long."


def _varied(points: Sequence[Point]) -> set[str]:
    return {name for name, values in tried(points).items() if len(values) > 1}


def _name(point: Point, varied: Container[str]) -> str:
    """The values that tell it from others here, and those that are not the default."""
    told = (one for one in point.implementation.parameters if one.name in varied or not one.is_default)
    return " ".join(one.text for one in told)


_NOTHING = (
    "No point here was measured with parameters, which a file declares as BLOCK = Choice(64, 128, 256). "
    "roofscope run KERNEL/VERSION --set all measures each combination; in the window select a point of such "
    "a file, choose values and press Measure."
)


def _one_variant(subject: Subject, implementation: Implementation) -> str:
    declared = "; ".join(one.choices_text for one in implementation.parameters)
    return (
        f"{subject.key} has one variant here. It declares {declared}. Choose others beside this and "
        f"press Measure, or roofscope run {subject.key} --set all."
    )
