"""The bytes of DRAM that a call fetches, bounded and estimated from times alone.

What is certain: a cold call moves at least its compulsory bytes, and no more than DRAM moves in its time.
What it allocates beside them says nothing: on an H200 the logarithms of a cross-entropy were written and
hardly read, and the working memory of a sum was never touched.

What is estimated in between rests on how long a byte takes the chip alone: by how much the time of the same
implementation, on one set of buffers, grows between two sizes that L2 holds. Where that is much less than a
cold byte takes, DRAM is what the call waits for, and its bytes are those of the time. Where it is not, the
cold call may be bound on the chip, and only the bounds hold.

Between work that never overlaps DRAM's, time = chip + DRAM, and work that always does, time = max(chip,
DRAM), lies the power mean time^4 = chip^4 + DRAM^4, which gives the estimate.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from roofscope.profiling.results.session import Point, Session

_OVERLAP = 4.0
_MOST_ON_CHIP = 0.8  # of the cold time: above, nothing parts DRAM's time from the chip's
_SURE = 1.1  # times the lower bound: so near the bounds themselves are the estimate
_HELD = 0.6  # of L2: data that stay there from call to call, whatever its hashing
_SAME_INTENSITY = 0.1
_LEAST_GROWTH = 1.9  # times as many bytes
_LEAST_S = 20e-6  # of a launch: of less, its fixed time of 1 to 2 us is too large a part


class Reuse(Struct, frozen=True):
    """The time of a call by how many sets of buffers others have used since its own."""

    sets: int
    seconds: float


class TrafficEstimate(Struct, frozen=True):
    """Bytes of DRAM a call. ``estimate`` is None where only the bounds are known; ``why`` says so."""

    low: float
    high: float
    estimate: float | None
    on_chip_share: float | None  # of the cold time, by the time of a byte that L2 holds
    why: str  # one sentence


def estimated(
    compulsory_bytes: int,
    cold_s: float,
    byte_per_s: float,
    on_chip_s: float | None,
    launches: float = 1,
) -> TrafficEstimate:
    """``on_chip_s``: what the call would take if its data were in L2; ``byte_per_s``: DRAM's ceiling."""
    high = cold_s * byte_per_s
    low = min(compulsory_bytes, high)
    if low and high / low <= _SURE:
        middle = (low * high) ** 0.5
        return TrafficEstimate(
            low, high, middle, None, "It takes hardly longer than the compulsory bytes do."
        )
    if cold_s < launches * _LEAST_S:
        why = "Its launches are so short that their fixed time is part of it."
        return TrafficEstimate(low, high, None, None, why)
    if on_chip_s is None:
        why = "No time of it with its data in L2 is known, so it may as well be bound on the chip."
        return TrafficEstimate(low, high, None, None, why)
    share = min(on_chip_s / cold_s, 1.0)
    if share > _MOST_ON_CHIP:
        why = "It takes about as long with its data in L2, so the chip may bind it, and not DRAM."
        return TrafficEstimate(low, high, None, share, why)
    middle = max(low, high * (1 - share**_OVERLAP) ** (1 / _OVERLAP))
    why = "With its data in L2 it takes much less a byte, so DRAM is what it waits for."
    return TrafficEstimate(low, high, middle, share, why)


def estimate_of(point: Point, session: Session) -> TrafficEstimate | None:
    """From the session's points; None without a time, a ceiling of DRAM, or compulsory bytes."""
    measured, work, device = point.measured, point.job.work, session.device_of(point)
    ceiling = session.roofline_of(point).memory_ceiling(work)
    if measured is None or ceiling is None or not work.byte_count or device is None:
        return None
    return estimated(
        work.byte_count,
        measured.time.median_s,
        ceiling.value,
        _on_chip_s(point, session.points, device.last_level_cache_bytes or 0),
        sum(kernel.calls for kernel in measured.kernels) or 1,
    )


def _on_chip_s(point: Point, points: Iterable[Point], cache_bytes: int) -> float | None:
    """By what hot times grow with each byte that L2 holds: their difference has no launch in it.

    From two workloads of this implementation and type that differ from the point in one axis alone, with as
    many FLOPs a byte: else a byte of theirs is not a byte of its own.
    """
    for axis in point.job.workload.sizes:
        held = sorted(
            (other.job.work.byte_count, other.measured.hot.median_s)
            for other in points
            if other.measured
            and other.measured.hot
            and other.job.work.byte_count <= _HELD * cache_bytes
            and _is_smaller(other, point, axis)
        )
        if len(held) > 1 and (found := _growth(held[0], held[-1])) is not None:
            return found * point.job.work.byte_count
    return None


def _is_smaller(other: Point, point: Point, axis: str) -> bool:
    mine, its = point.job.workload, other.job.workload
    if other.implementation.key != point.implementation.key or its.dtype is not mine.dtype:
        return False
    if any(its.sizes.get(name) != size for name, size in mine.sizes.items() if name != axis):
        return False
    work, of_point = other.job.work, point.job.work
    if not work.byte_count or not of_point.byte_count:
        return False
    intensity, expected = work.flop_count / work.byte_count, of_point.flop_count / of_point.byte_count
    return abs(intensity - expected) <= _SAME_INTENSITY * expected


def _growth(small: tuple[int, float], large: tuple[int, float]) -> float | None:
    """Seconds a byte; None where the sizes or the times are too near each other."""
    if large[0] < _LEAST_GROWTH * small[0] or large[1] <= small[1]:
        return None
    return (large[1] - small[1]) / (large[0] - small[0])


def held_bytes(curve: Sequence[Reuse], bytes_per_set: int) -> float | None:
    """How many bytes used since L2 holds: where the time is half way from hot to cold.

    None where the curve does not rise by a tenth: then it says nothing of the cache.
    """
    found = sorted(curve, key=lambda one: one.sets)
    hot_s, cold_s = found[0].seconds, found[-1].seconds
    if cold_s < 1.1 * hot_s:
        return None
    half = (hot_s + cold_s) / 2
    before = found[0]
    for one in found[1:]:
        if one.seconds >= half:
            part = (half - before.seconds) / (one.seconds - before.seconds)
            return (before.sets + part * (one.sets - before.sets)) * bytes_per_set
        before = one
    return None
