"""What the roofline shows, in log10 coordinates: x is FLOP/byte, y is FLOP/s.

No Qt and no pixels: the window's chart and the SVG are both drawn from one scene, so they cannot
disagree. Axes come from the machine's ceilings, not from the points, so that two pictures of one
machine can be laid side by side; a point outside, or at the edge, widens them by quarter decades.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum

from msgspec import Struct

from roofscope.app.presentation.roofline.ceiling_lines import RidgePoint, RoofLine, roof_lines
from roofscope.app.presentation.roofline.crowd import Arranged, Crowd
from roofscope.app.presentation.roofline.level_marks import LevelMark, level_marks
from roofscope.app.presentation.roofline.points import (
    ChartPoint,
    PointGroup,
    StripPoint,
    paths_of,
)
from roofscope.app.presentation.roofline.ranges import Range, data_ranges, machine_ranges, roof_range
from roofscope.app.presentation.roofline.trails import Trail, trails_of
from roofscope.profiling.analysis.verdict import MEASURED_IN, Verdict, verdict
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Roofline, Source

_USUAL = (Bound.FP32, Bound.TF32, Bound.FP16, Bound.BF16, Bound.FP8)  # before there are points
# Pixels across, by the most points that are drawn so large; a crowd has smaller ones.
_MARKERS = ((60, 11.0), (400, 9.0), (2000, 7.0), (math.inf, 5.0))


class ChartY(StrEnum):
    """What the height of a point says."""

    RATE = "rate"  # FLOP/s, log10
    ROOF = "roof"  # least time by its own roof over its time


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
    y: ChartY = ChartY.RATE

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
    proof_count: int = 0  # of the self-test, which have no place on a chart either
    untimed_count: int = 0  # failed, skipped or cancelled: they have no place on a chart
    y: ChartY = ChartY.RATE
    unroofed_count: int = 0  # points without a ceiling that judges them: with y their share of it, not drawn
    kernels: tuple[str, ...] = ()  # in the order of drawing
    warned_count: int = 0
    paths: tuple[tuple[ChartPoint, ...], ...] = ()  # an implementation over its sizes, in their order
    trails: tuple[Trail, ...] = ()  # an implementation over its edits, the newest last
    levels: tuple[LevelMark, ...] = ()  # of the selected point, where it was counted

    @property
    def is_of_roof(self) -> bool:
        """Whether the height of a point is its share of its own roof."""
        return self.y is ChartY.ROOF

    @property
    def drawn_lines(self) -> tuple[RoofLine, ...]:
        """Under their own roofs points have one line only, at all of it."""
        return () if self.is_of_roof else self.lines

    @property
    def marker(self) -> float:
        """Pixels across a marker."""
        count = len(self.points) + len(self.ghosts)
        return next(size for most, size in _MARKERS if count <= most)

    def has_points_of(self, other: "ChartScene | None") -> bool:
        """Whether its points are the very same ones, as after a selection: they need not be drawn again."""
        return other is not None and self.points is other.points and self.ghosts is other.ghosts

    @property
    def is_empty(self) -> bool:
        return not self.points and not self.strip

    def point(self, number: int | None) -> ChartPoint | None:
        return next((point for point in (*self.points, *self.ghosts) if point.number == number), None)


def build_scene(
    session: Session,
    points: Crowd | Sequence[ChartPoint | StripPoint],
    options: ChartOptions = ChartOptions(),  # noqa: B008 - frozen
) -> ChartScene:
    """Lay a session's points (see ``points.all_points``) under its ceilings."""
    crowd = points if isinstance(points, Crowd) else Crowd(points)
    roofline, of_roof = session.roofline, options.y is ChartY.ROOF
    own = crowd.among(None)
    if len(session.devices) > 1:  # under these ceilings stand the points of their device
        own = crowd.among({point.number for point in session.points if session.is_shown(point)})
    shown = own & crowd.among(options.shown)
    arranged = crowd.arranged(shown, of_roof=of_roof)
    placed, ghosts = arranged.newest, arranged.earlier
    known = tuple(source for source in Source if any(c.source is source for c in roofline.ceilings))
    sources = options.sources
    if sources is None:
        sources = _default_sources(roofline, known, crowd.regimes(shown))
    pipes = tuple(b for b in Bound if not b.is_memory and any(c.bound is b for c in roofline.ceilings))
    bounds = _default_bounds(pipes, crowd.bounds(own)) if options.bounds is None else options.bounds
    lines, ridges = roof_lines(roofline, sources, bounds, _lit_bounds(arranged, options.selected))
    xs, ys, shares = crowd.extents(own)
    target = _target(session, (*placed, *ghosts), options)
    x_range, y_range = machine_ranges(roofline, bounds) or data_ranges(xs, ys)
    return ChartScene(
        x_range=x_range.widened_to(xs or ()),
        y_range=roof_range(shares) if of_roof else y_range.widened_to(ys or ()),
        lines=lines,
        ridges=ridges,
        points=placed,
        ghosts=ghosts,
        strip=arranged.strip,
        groups=arranged.groups,
        sources=sources,
        known_sources=known,
        bounds=bounds,
        known_bounds=pipes,
        target=target,
        has_ceilings=bool(lines),
        hidden_count=int(own.sum() - shown.sum()),
        proof_count=len(session.newest_proofs),
        untimed_count=sum(
            point.measured is None and session.is_shown(point) and options.keeps(point.number)
            for point in (session.points if crowd.untimed is None else crowd.untimed)
        ),
        y=options.y,
        unroofed_count=arranged.unroofed_count,
        paths=paths_of(placed, options.selected),
        kernels=arranged.kernels,
        warned_count=arranged.warned_count,
        trails=trails_of(session, placed, ghosts),
        levels=level_marks(session, target.point if target else None),
    )


def _target(session: Session, points: Sequence[ChartPoint], options: ChartOptions) -> Target | None:
    if options.selected is None:
        return None
    placed = next((point for point in points if point.number == options.selected), None)
    point = next((point for point in session.points if point.number == options.selected), None)
    if placed is None or point is None or point.measured is None:
        return None
    judged = verdict(point, session)
    if judged.limiter is None or judged.speedup_left is None:
        return None
    roof_y = 1.0 if options.y is ChartY.ROOF else placed.y + math.log10(judged.speedup_left)
    return Target(placed, roof_y, judged.limiter, judged)


def _default_sources(
    roofline: Roofline, known: Sequence[Source], regimes: AbstractSet[Regime]
) -> frozenset[Source]:
    """What judges the points shown: burst, and sustained beside it where a point was measured so.

    Memory keeps its clock under load and has no sustained ceiling: the burst one judges those points, too.
    """
    measured = {MEASURED_IN[regime] for regime in regimes or {Regime.BURST}} & set(known)
    memory = roofline.best(Bound.DRAM)
    is_roofed = any(roofline.of(Bound.DRAM, source) for source in measured)
    if measured and not is_roofed and memory and memory.source.is_measured:
        measured.add(memory.source)
    return frozenset(measured or [source for source in known if source.is_measured] or known)


def _default_bounds(known: Sequence[Bound], of_points: AbstractSet[Bound]) -> frozenset[Bound]:
    """Pipes that bound a point, because a dozen lines hide the few that matter; else the usual ones."""
    wanted = of_points & set(known) or set(_USUAL) & set(known)
    return frozenset(wanted or known)


def _lit_bounds(arranged: Arranged, selected: int | None) -> frozenset[Bound] | None:
    """Compute bounds of the selected point, else of all points shown; None lights everything."""
    chosen = (point.bound for point in arranged.newest if point.number == selected)
    lit = next(chosen, None) if selected is not None else None
    return frozenset({lit} if lit else arranged.bounds) or None
