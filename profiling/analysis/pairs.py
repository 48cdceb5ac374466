"""Two points beside each other: pins of a session, points of two sessions, edits of one implementation.

Points that one job timed in turn are compared round by round. All others were measured apart: the ratio is
that of their medians with both intervals, and with what two runs of unchanged code differ by.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct

from roofscope.profiling.analysis.between_runs import BetweenRuns, between_runs, repeats_of, widened
from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.analysis.verdict import CEILING_UNCERTAINTY, verdict
from roofscope.profiling.results.marks import pins_of
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.results.session import Point, Session

Key = tuple[str, str, str, str]

_TWO_ROOFS = math.hypot(CEILING_UNCERTAINTY, CEILING_UNCERTAINTY)


class Change(StrEnum):
    """What B is beside A."""

    FASTER = "faster"
    SLOWER = "slower"
    NEARER = "nearer its roof"
    FARTHER = "farther from its roof"
    ALIKE = "not distinguishable"
    SAME = "the same measurement"
    FAILS = "failed in B"
    NO_TIME = "not measured in B"  # skipped or stopped
    ONLY_NOW = "measured in B only"
    UNKNOWN = "not known"


class Side(Struct, frozen=True):
    """A point as one side of a pair; the share of its own roof, None where that is not known."""

    point: Point
    fraction_of_roof: float | None


class Pair(Struct, frozen=True):
    """``ratio`` above 1 is in favour of B: A's time over B's, or B's share of its roof over A's.

    None where one of the two has no time, or by roof no roof.
    """

    a: Side
    b: Side | None  # None: nothing is there to compare A with
    ratio: Comparison | None
    is_by_roof: bool  # the two are of different work or of different kinds of GPU
    common_rounds: int  # 0: measured apart
    between_runs: float = 0.0  # what two runs differ by, as a share, which the interval of the ratio holds

    @property
    def change(self) -> Change:
        if self.b is None:
            return Change.UNKNOWN
        if isinstance(self.b.point.outcome, Failed):
            return Change.FAILS
        if self.b.point.measured is None:
            return Change.NO_TIME
        if self.a.point.measured is None:
            return Change.ONLY_NOW
        if is_same_measurement(self.a.point, self.b.point):
            return Change.SAME
        if self.ratio is None or not self.ratio.is_known:
            return Change.UNKNOWN
        if not self.ratio.distinguishable:
            return Change.ALIKE
        if self.is_by_roof:
            return Change.NEARER if self.ratio.ratio > 1 else Change.FARTHER
        return Change.FASTER if self.ratio.ratio > 1 else Change.SLOWER

    @property
    def is_edited(self) -> bool:
        """Whether the two are of different sources."""
        mine, other = self.a.point.implementation, self.b.point.implementation if self.b else None
        return other is not None and mine.source_hash != other.source_hash


class SessionPairs(Struct, frozen=True):
    """Points of two sessions that are of one implementation and workload; how many are in one only."""

    pairs: tuple[Pair, ...]
    only_a: int
    only_b: int
    apart: BetweenRuns  # what rows of unchanged source say


def pairs_of_sessions(a: Session, b: Session) -> SessionPairs:
    """The newest of each implementation, workload, regime and GPU; all intervals hold 95 % together."""
    of_a, of_b = _newest(a, {}), _newest(b, _counterparts(a, b))
    common = [key for key in of_a if key in of_b and (of_a[key].measured or of_b[key].measured)]
    timed = sum(bool(of_a[key].measured and of_b[key].measured) for key in common)
    apart = between_runs(
        mine.measured.time.median_s / other.measured.time.median_s
        for mine, other in ((of_a[key], of_b[key]) for key in common)
        if mine.measured and other.measured and _is_unchanged(a, mine, b, other)
    )
    make = _maker(a, b, apart, is_apart=True)
    pairs = tuple(make(of_a[key], of_b[key], max(timed, 1)) for key in common)
    return SessionPairs(pairs, len(of_a.keys() - of_b.keys()), len(of_b.keys() - of_a.keys()), apart)


def pairs_of_pins(session: Session) -> tuple[Pair, ...]:
    """Each pin, also one without a time, with its kernel's first that has one, on its own GPU if one is.

    A kernel's only pin stands alone.
    """
    points = {point.number: point for point in session.points}
    pins = [points[number] for number in pins_of(session.marks) if number in points]
    first: dict[str, Point] = {}
    first_there: dict[tuple[str, str], Point] = {}
    for point in (*(pin for pin in pins if pin.measured), *pins):
        first.setdefault(point.implementation.kernel, point)
        first_there.setdefault((point.implementation.kernel, uuid_of(session, point)), point)
    joined: list[tuple[Point, Point | None]] = []
    for point in pins:
        baseline = first_there[point.implementation.kernel, uuid_of(session, point)]
        if baseline is point:  # of a GPU's first, the user asks how two GPUs compare
            baseline = first[point.implementation.kernel]
        if baseline is not point:
            joined.append((baseline, point))
    count = max(len(joined), 1)
    apart = repeats_of(session) if joined else BetweenRuns()
    paired = {baseline.implementation.kernel for baseline, _ in joined}
    joined += [(point, None) for kernel, point in first.items() if kernel not in paired]
    make = _maker(session, session, apart)
    return tuple(make(one, other, count) for one, other in joined)


def history_of(session: Session, point: Point) -> tuple[Pair, ...]:
    """Each measurement of an implementation and workload on a GPU with the one before; the first alone."""
    setup = _key(point, uuid_of(session, point))
    same = [p for p in session.points if p.measured and _key(p, uuid_of(session, p)) == setup]
    make = _maker(session, session, repeats_of(session))
    count = max(len(same) - 1, 1)
    alone = [make(same[0], None, count)] if same else []
    return (*alone, *(make(one, other, count) for one, other in pairwise(same)))


def pair_of(session: Session, one: Point, other: Point) -> Pair:
    """Two points of a session, as of two pins of it."""
    return _maker(session, session, repeats_of(session))(one, other, 1)


def failures_of(session: Session, point: Point) -> tuple[Point, ...]:
    """Tries at the same that gave no time: builds that failed, results that were wrong."""
    setup = _key(point, uuid_of(session, point))
    same = (p for p in session.points if isinstance(p.outcome, Failed))
    return tuple(p for p in same if _key(p, uuid_of(session, p)) == setup)


def is_same_measurement(one: Point, other: Point) -> bool:
    """As in a session and its copy."""
    return (one.recorded_at, one.outcome) == (other.recorded_at, other.outcome)


def device_of(session: Session, point: Point) -> str | None:
    device = session.device_of(point)
    return device.name if device else None


def uuid_of(session: Session, point: Point) -> str:
    """Of the device; "" where it is not known."""
    device = session.device_of(point)
    return device.uuid if device else ""


def _counterparts(a: Session, b: Session) -> dict[str, str]:
    """For UUIDs of B those of A: the same GPU, else what is left by its id, or alone on either side."""
    of_a, of_b = _devices(a), _devices(b)
    found = {uuid: uuid for uuid in of_b if uuid in of_a}
    left_a = {uuid: name for uuid, name in of_a.items() if uuid not in found}
    left_b = {uuid: name for uuid, name in of_b.items() if uuid not in found}
    if len(left_a) == len(left_b) == 1:
        return {**found, **dict(zip(left_b, left_a, strict=True))}
    by_id = {name: uuid for uuid, name in left_a.items()}
    return {**found, **{uuid: by_id[name] for uuid, name in left_b.items() if name in by_id}}


def _devices(session: Session) -> dict[str, str]:
    """Those with points, by UUID: their ids."""
    return {uuid_of(session, point): point.job.device for point in session.points}


def _is_unchanged(a: Session, mine: Point, b: Session, other: Point) -> bool:
    """Whether two measurements are of the same source and on the same kind of device."""
    return (
        mine.implementation.source_hash == other.implementation.source_hash
        and device_of(a, mine) == device_of(b, other)
        and not is_same_measurement(mine, other)
    )


def _maker(
    a: Session, b: Session, apart: BetweenRuns, *, is_apart: bool = False
) -> Callable[[Point, Point | None, int], Pair]:
    def side(session: Session, point: Point) -> Side:
        return Side(point, verdict(point, session).fraction_of_roof)

    def make(one: Point, other: Point | None, comparisons: int) -> Pair:
        mine = side(a, one)
        if other is None:
            return Pair(mine, None, None, False, 0)
        its = side(b, other)
        is_by_roof = one.job.workload != other.job.workload or device_of(a, one) != device_of(b, other)
        if one.measured is None or other.measured is None:
            return Pair(mine, its, None, is_by_roof, 0)
        in_turn = not is_apart and one.job == other.job
        found, rounds = compare(
            one.measured.time, other.measured.time, in_turn=in_turn, comparisons=comparisons
        )
        half_width = 0.0 if in_turn else apart.half_width
        if not is_by_roof:
            return Pair(mine, its, widened(found, half_width), False, rounds, math.expm1(half_width))
        by_roof = _by_roof(mine, its, widened(found, math.hypot(half_width, _TWO_ROOFS)))
        return Pair(mine, its, by_roof, True, rounds, math.expm1(half_width))

    return make


def _by_roof(a: Side, b: Side, times: Comparison) -> Comparison | None:
    """B's share over A's: the interval is that of the times, which holds the errors of two ceilings."""
    if not (a.fraction_of_roof and b.fraction_of_roof) or times.ratio <= 0:
        return None
    ratio = b.fraction_of_roof / a.fraction_of_roof
    scale = ratio / times.ratio
    return Comparison(ratio, times.low * scale, times.high * scale)


def _newest(session: Session, renamed: Mapping[str, str]) -> dict[Key, Point]:
    """Of each implementation, workload, regime and GPU the newest that was measured, else that failed."""
    found: dict[Key, Point] = {}
    for point in session.points:
        uuid = uuid_of(session, point)
        key = _key(point, renamed.get(uuid, uuid))
        known = found.get(key)
        if point.measured or (isinstance(point.outcome, Failed) and not (known and known.measured)):
            found[key] = point
    return found


def _key(point: Point, uuid: str) -> Key:
    return point.implementation.key, point.job.workload.label, point.job.regime, uuid


def regressions(pairs: Iterable[Pair], percent: float) -> Sequence[Pair]:
    """Those certainly slower by B's median, and by more than this; and those that fail in B."""
    limit = 1 + percent / 100
    return [
        pair
        for pair in pairs
        if pair.change is Change.FAILS
        or (
            pair.change in (Change.SLOWER, Change.FARTHER)
            and pair.ratio is not None
            and 1 / pair.ratio.ratio > limit
        )
    ]
