"""What the roofline shows, in log10 coordinates: x is FLOP/byte, y is FLOP/s.

No Qt and no pixels: the window's chart and the SVG are both drawn from one scene, so they cannot
disagree. Axes come from the machine's ceilings, not from the points, so that two pictures of one
machine can be laid side by side; a point outside, or at the edge, widens them by quarter decades.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from roofscope.app.presentation.roofline.points import (
    ChartPoint,
    PointGroup,
    StripPoint,
    grouped,
    newest_first,
)
from roofscope.profiling.analysis.verdict import MEASURED_IN, Verdict, verdict
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Roofline, Source, ridge_point

_ROOM = 0.12  # decades: points that all but coincide are spread to either side
_USUAL = (Bound.FP32, Bound.TF32, Bound.FP16, Bound.BF16, Bound.FP8)  # before there are points
FAR = 30.0  # decades: beyond any view, so that lines run on while the user pans


class Range(Struct, frozen=True):
    """Ends of an axis, log10."""

    low: float
    high: float

    @property
    def span(self) -> float:
        return self.high - self.low

    def widened_to(self, values: Iterable[float]) -> "Range":
        """Quarter decades added until every value is inside, with room for markers beside it."""
        low, high = self.low, self.high
        for value in values:
            low -= max(_ceil(low - value + _ROOM), 0.0)
            high += max(_ceil(value - high + _ROOM), 0.0)
        return Range(low, high)


class RoofLine(Struct, frozen=True):
    """A straight piece of a ceiling. ``lit`` when it can bound what is shown or selected."""

    ceiling: Ceiling
    start: tuple[float, float]
    end: tuple[float, float]
    lit: bool
    is_main: bool  # gets a label; the other access mixes of a memory are thin lines beside it


class RidgePoint(Struct, frozen=True):
    """Where a memory and a compute ceiling meet."""

    x: float
    y: float
    lit: bool
    compute: Ceiling


class Target(Struct, frozen=True):
    """The selected point and the place straight above it on the ceiling that limits it."""

    point: ChartPoint
    roof_y: float
    ceiling: Ceiling
    verdict: Verdict

    @property
    def factor(self) -> float:
        """Measured time over the least time; below 1 where the reading is higher than the ceiling."""
        return self.verdict.speedup_left or 1.0


class ChartOptions(Struct, frozen=True):
    """What the user asked to see. ``sources`` None: those that judge the points shown.

    ``bounds`` None: of the pipes, those that bound a point of the session.
    """

    sources: frozenset[Source] | None = None
    bounds: frozenset[Bound] | None = None
    shown: frozenset[int] | None = None  # numbers of the points that the filter keeps; None: all
    selected: int | None = None

    def keeps(self, number: int) -> bool:
        """Whether the filter lets this point through."""
        return self.shown is None or number in self.shown


class ChartScene(Struct, frozen=True):
    """One picture of a session."""

    x_range: Range
    y_range: Range
    lines: tuple[RoofLine, ...]
    ridges: tuple[RidgePoint, ...]
    points: tuple[ChartPoint, ...]
    ghosts: tuple[ChartPoint, ...]  # earlier runs of the same workload and implementation
    strip: tuple[StripPoint, ...]  # kernels without FLOPs have no intensity: a bandwidth strip
    groups: tuple[PointGroup, ...]
    sources: frozenset[Source]  # those drawn
    known_sources: tuple[Source, ...]
    bounds: frozenset[Bound]  # pipes drawn
    known_bounds: tuple[Bound, ...]
    target: Target | None
    has_ceilings: bool
    hidden_count: int  # points left out by the filter
    untimed_count: int = 0  # failed, skipped or cancelled: they have no place on a chart
    rows: tuple[tuple[tuple[float, float], tuple[float, float]], ...] = ()  # ends of points set side by side

    @property
    def is_empty(self) -> bool:
        return not self.points and not self.strip

    def point(self, number: int | None) -> ChartPoint | None:
        return next((point for point in (*self.points, *self.ghosts) if point.number == number), None)


def build_scene(
    session: Session,
    points: Sequence[ChartPoint | StripPoint],
    options: ChartOptions = ChartOptions(),  # noqa: B008 - frozen
) -> ChartScene:
    """Lay a session's points (see ``chart_points.all_points``) under its ceilings."""
    roofline = session.roofline
    if len(session.devices) > 1:  # under these ceilings stand the points of their device
        own = {point.number for point in session.points if session.is_shown(point)}
        points = [point for point in points if point.number in own]
    shown = [point for point in points if options.keeps(point.number)]
    newest, older = newest_first(shown)
    placed = tuple(point for point in newest if isinstance(point, ChartPoint))
    known = tuple(source for source in Source if any(c.source is source for c in roofline.ceilings))
    sources = _default_sources(known, shown) if options.sources is None else options.sources
    everywhere = [point for point in points if isinstance(point, ChartPoint)]
    pipes = tuple(b for b in Bound if not b.is_memory and any(c.bound is b for c in roofline.ceilings))
    bounds = _default_bounds(pipes, everywhere) if options.bounds is None else options.bounds
    lit = _lit_bounds(placed, options)
    lines, ridges = _roof(roofline, sources, bounds, lit)
    x_range, y_range = _machine_ranges(roofline, bounds) or _data_ranges(points)
    return ChartScene(
        x_range=x_range.widened_to(point.x for point in everywhere),
        y_range=y_range.widened_to(point.y for point in everywhere),
        lines=lines,
        ridges=ridges,
        points=placed,
        ghosts=tuple(point for point in older if isinstance(point, ChartPoint)),
        strip=tuple(point for point in newest if isinstance(point, StripPoint)),
        groups=grouped(placed),
        sources=sources,
        known_sources=known,
        bounds=bounds,
        known_bounds=pipes,
        target=_target(session, placed, options.selected),
        has_ceilings=bool(lines),
        hidden_count=len(points) - len(shown),
        untimed_count=sum(
            point.measured is None and session.is_shown(point) and options.keeps(point.number)
            for point in session.points
        ),
    )


def _target(session: Session, points: Sequence[ChartPoint], selected: int | None) -> Target | None:
    placed = next((point for point in points if point.number == selected), None)
    point = next((point for point in session.points if point.number == selected), None)
    if placed is None or point is None or point.measured is None:
        return None
    judged = verdict(point, session)
    if judged.limiter is None or judged.speedup_left is None:
        return None
    return Target(placed, placed.y + math.log10(judged.speedup_left), judged.limiter, judged)


def _default_sources(known: Sequence[Source], points: Sequence[ChartPoint | StripPoint]) -> frozenset[Source]:
    """What judges the points shown: burst, and sustained beside it where a point was measured so."""
    regimes = {point.regime for point in points} or {Regime.BURST}
    measured = {MEASURED_IN[regime] for regime in regimes} & set(known)
    return frozenset(measured or [source for source in known if source.is_measured] or known)


def _default_bounds(known: Sequence[Bound], points: Sequence[ChartPoint]) -> frozenset[Bound]:
    """Pipes that bound a point, because a dozen lines hide the few that matter; else the usual ones."""
    wanted = {point.bound for point in points if point.bound} & set(known) or set(_USUAL) & set(known)
    return frozenset(wanted or known)


def _lit_bounds(points: Sequence[ChartPoint], options: ChartOptions) -> frozenset[Bound] | None:
    """Compute bounds of the selected point, else of all points shown; None lights everything."""
    known = [(point.number, point.bound) for point in points if point.bound]
    selected = [bound for number, bound in known if number == options.selected]
    return frozenset(selected or [bound for _, bound in known]) or None


def _roof(
    roofline: Roofline, sources: frozenset[Source], bounds: frozenset[Bound], lit: frozenset[Bound] | None
) -> tuple[tuple[RoofLine, ...], tuple[RidgePoint, ...]]:
    lines: list[RoofLine] = []
    ridges: list[RidgePoint] = []
    for source in Source:
        if source not in sources:
            continue
        compute = [c for bound in Bound if bound in bounds for c in roofline.of(bound, source)]
        own_memory = roofline.of(Bound.DRAM, source)
        memory = own_memory[0] if own_memory else roofline.best(Bound.DRAM)
        for ceiling in compute:
            is_lit = lit is None or ceiling.bound in lit
            lines.append(_compute_line(ceiling, memory, is_lit))
            if memory:
                x, y = math.log10(ridge_point(memory, ceiling)), math.log10(ceiling.value)
                ridges.append(RidgePoint(x, y, is_lit, ceiling))
        tops = [c.value for c in compute]
        lit_tops = [c.value for c in compute if lit is None or c.bound in lit]
        for index, ceiling in enumerate(own_memory):
            lines.extend(_memory_lines(ceiling, tops, lit_tops, is_main=index == 0))
        for ceiling in roofline.of(Bound.L2, source)[:1]:
            lines.extend(_memory_lines(ceiling, tops, [], is_main=True))
    return tuple(lines), tuple(ridges)


def _compute_line(ceiling: Ceiling, memory: Ceiling | None, lit: bool) -> RoofLine:
    y = math.log10(ceiling.value)
    start = math.log10(ridge_point(memory, ceiling)) if memory else -FAR
    return RoofLine(ceiling, (start, y), (FAR, y), lit, is_main=True)


def _memory_lines(
    ceiling: Ceiling, tops: Sequence[float], lit_tops: Sequence[float], *, is_main: bool
) -> list[RoofLine]:
    """The slope up to the highest lit compute ceiling, and dim from there to the highest of all."""
    slope = math.log10(ceiling.value)
    top = math.log10(max(tops)) - slope if tops else FAR
    lit_top = math.log10(max(lit_tops)) - slope if lit_tops else (FAR if not tops else -FAR)
    pieces: list[RoofLine] = []
    if lit_top > -FAR:
        pieces.append(RoofLine(ceiling, (-FAR, slope - FAR), (lit_top, lit_top + slope), True, is_main))
    if top > lit_top:
        pieces.append(RoofLine(ceiling, (lit_top, lit_top + slope), (top, top + slope), False, is_main))
    return pieces


def _machine_ranges(roofline: Roofline, bounds: frozenset[Bound]) -> tuple[Range, Range] | None:
    """Two and a half decades left of the lowest ridge, one right of the highest; quarter decades.

    The special functions, far below the rest, count where they are drawn.
    """
    memory = roofline.best(Bound.DRAM)
    compute = [
        ceiling.value
        for ceiling in roofline.ceilings
        if not ceiling.bound.is_memory and (ceiling.bound is not Bound.SPECIAL or Bound.SPECIAL in bounds)
    ]
    if memory is None or not compute:
        return None
    slope = math.log10(memory.value)
    x_low = _floor(math.log10(min(compute)) - slope - 2.4)
    x_high = _ceil(math.log10(max(compute)) - slope + 1.1)
    y_low = _floor(slope + x_low - 0.6)
    y_high = _ceil(math.log10(max(compute)) + 0.3)
    return Range(x_low, x_high), Range(y_low, y_high)


def _data_ranges(points: Sequence[ChartPoint | StripPoint]) -> tuple[Range, Range]:
    """Before the ceilings are measured the points are all there is to go by."""
    placed = [point for point in points if isinstance(point, ChartPoint)]
    if not placed:
        return Range(-2.0, 4.0), Range(9.0, 15.0)
    xs, ys = [point.x for point in placed], [point.y for point in placed]
    return (
        Range(math.floor(min(xs) - 0.3), math.ceil(max(xs) + 0.3)),
        Range(math.floor(min(ys) - 0.3), math.ceil(max(ys) + 0.3)),
    )


def _floor(value: float) -> float:
    return math.floor(value * 4) / 4


def _ceil(value: float) -> float:
    return math.ceil(value * 4) / 4
