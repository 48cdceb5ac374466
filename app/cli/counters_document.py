"""What ``counters --json`` prints: bytes, seconds, FLOPs."""

from msgspec import Struct

from roofscope.app.cli.document import Document
from roofscope.app.presentation.counters import counted_sentence
from roofscope.profiling.analysis.traffic import moved
from roofscope.profiling.results.counters import Counters, Level
from roofscope.profiling.results.session import Point, Session


class CountedLevel(Struct, frozen=True, kw_only=True):
    """One memory. ``byte_per_s`` is over the headline; null where there is no such figure."""

    level: Level
    byte_count: float
    byte_per_s: float | None
    ceiling_byte_per_s: float | None
    flop_per_byte: float | None


class CountedPoint(Struct, frozen=True, kw_only=True):
    """``ratio``: counted bytes of DRAM over compulsory ones."""

    point: int
    implementation: str
    dtype: str
    sizes: dict[str, int]
    compulsory_bytes: int
    compulsory_flop_per_byte: float | None
    ratio: float | None
    sentence: str
    levels: tuple[CountedLevel, ...]
    counters: Counters


class CountersDocument(Document, frozen=True, kw_only=True, tag="counters"):
    """Of ``counters``: what was counted of each point."""

    session: str
    points: tuple[CountedPoint, ...]


def counted_point(point: Point, session: Session) -> CountedPoint:
    """Of a point that the session has counters of."""
    found = moved(point, session)
    assert found is not None
    return CountedPoint(
        point=point.number,
        implementation=point.implementation.key,
        dtype=str(point.job.workload.dtype),
        sizes=dict(point.job.workload.sizes),
        compulsory_bytes=found.compulsory_bytes,
        compulsory_flop_per_byte=found.compulsory_intensity,
        ratio=found.ratio,
        sentence=counted_sentence(found),
        levels=tuple(
            CountedLevel(
                level=level.level,
                byte_count=level.byte_count,
                byte_per_s=level.byte_per_s,
                ceiling_byte_per_s=level.ceiling.value if level.ceiling else None,
                flop_per_byte=level.intensity,
            )
            for level in found.levels
        ),
        counters=found.counters,
    )
