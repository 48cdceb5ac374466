"""The time that the same version had on another machine, as recorded there: never one of this run."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from roofscope.app.presentation.fact import Fact
from roofscope.app.presentation.formatting import size_and_fill_text, spread_time_text
from roofscope.app.presentation.verdict_text import ceiling_name, share_text
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.paths import SUFFIX
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import SessionError, load


class RecordedTime(Struct, frozen=True):
    """Of the same version and type, at the same sizes or, where there is no time at them, at other ones."""

    device: str
    time: str
    share: str  # of its roof, with the roof's name; "" where none is known
    sizes: str
    is_same_size: bool
    is_same_source: bool
    session: str  # the file's name
    date: str

    @property
    def text(self) -> str:
        """``NVIDIA H200: 12.3 µs, 91 % of DRAM copy, at 16Mi; source changed since``."""
        parts = [self.time, self.share, "" if self.is_same_size else f"at {self.sizes}"]
        changed = "" if self.is_same_source else "; source changed since"
        return f"{self.device}: {', '.join(filter(None, parts))}{changed}"


def recorded_time(point: Point, recorded: Iterable[Session]) -> RecordedTime | None:
    """Of the same source rather, then at the same sizes; None where no session has a time of this version."""
    found = [
        (_likeness(point, other), other, session)
        for session in recorded
        for other in session.points
        if other.measured
        and other.implementation.key == point.implementation.key
        and other.job.workload.dtype is point.job.workload.dtype
    ]
    if not found:
        return None
    _, best, session = max(found, key=lambda one: one[0])
    assert best.measured
    time, device = best.measured.time, session.device_of(best)
    judged = verdict(best, session)
    share = f"{share_text(judged)} of {ceiling_name(judged.limiter)}" if judged.limiter else ""
    return RecordedTime(
        device.name if device else "Another machine",
        spread_time_text(time.median_s, time.bounds_s, len(time.samples_s)),
        share,
        size_and_fill_text(best.job.workload),
        best.job.workload.sizes == point.job.workload.sizes,
        best.implementation.source_hash == point.implementation.source_hash,
        session.path.name,
        best.recorded_at.partition("T")[0],
    )


def recorded_fact(point: Point, recorded: Iterable[Session]) -> Fact:
    """Beside what was found without a GPU; without a value where nothing was recorded."""
    found = recorded_time(point, recorded)
    if found is None:
        return Fact("Recorded", "")
    return Fact("Recorded", found.text, f"On another machine, not here: {found.session}, {found.date}")


def example_sessions(folder: Path) -> tuple[Session, ...]:
    """Those that came with the program; one that cannot be read is left out."""
    found: list[Session] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with suppress(SessionError):
            found.append(load(path))
    return tuple(found)


def _likeness(point: Point, other: Point) -> tuple[bool, bool, int, str]:
    return (
        other.implementation.source_hash == point.implementation.source_hash,
        other.job.workload.sizes == point.job.workload.sizes,
        other.job.work.byte_count,
        other.recorded_at,
    )
