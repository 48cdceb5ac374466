"""Bytes that were counted beside those that a call must move, at each memory, and their intensities."""

from msgspec import Struct

from roofscope.profiling.results.counters import Counters, Level
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Bound, Ceiling

MUCH_MORE = 1.2  # times the compulsory bytes: below, prefetches and halves of lines explain it


class LevelTraffic(Struct, frozen=True):
    """What a call moves at one memory."""

    level: Level
    byte_count: float
    byte_per_s: float | None  # over the headline; None without a time
    intensity: float | None  # FLOP/byte, of the spec's FLOPs; None where the spec has none, or no byte moved
    ceiling: Ceiling | None  # of that memory, measured or from the data sheet

    @property
    def share(self) -> float | None:
        """Of the ceiling."""
        return self.byte_per_s / self.ceiling.value if self.byte_per_s and self.ceiling else None


class Moved(Struct, frozen=True):
    """A point's counters, read."""

    counters: Counters
    compulsory_bytes: int
    compulsory_intensity: float | None  # FLOP/byte
    levels: tuple[LevelTraffic, ...]  # those that were counted, from the farthest

    @property
    def ratio(self) -> float | None:
        """Counted bytes of DRAM over compulsory ones; None where either is not known."""
        counted = self.counters.dram_bytes
        return counted / self.compulsory_bytes if counted is not None and self.compulsory_bytes else None


def moved(point: Point, session: Session) -> Moved | None:
    """None where nothing was counted of the point."""
    counters = session.counters.get(point.number)
    if counters is None:
        return None
    work, roofline = point.job.work, session.roofline_of(point)
    seconds = point.measured.time.median_s if point.measured else None
    ceilings = {Level.DRAM: roofline.memory_ceiling(work), Level.L2: roofline.best(Bound.L2), Level.L1: None}
    levels = [
        LevelTraffic(
            level,
            byte_count,
            byte_count / seconds if seconds else None,
            work.flop_count / byte_count if byte_count and work.flop_count else None,
            ceilings[level],
        )
        for level in Level
        if (byte_count := counters.bytes_at(level)) is not None
    ]
    return Moved(
        counters,
        work.byte_count,
        work.flop_count / work.byte_count if work.flop_count and work.byte_count else None,
        tuple(levels),
    )
