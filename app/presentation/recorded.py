"""The time that the same version had on another machine, as a session was recorded there: never one of this run."""

from pathlib import Path

from msgspec import Struct

from roofscope.app.presentation.fact import Fact, Section, section
from roofscope.app.presentation.formatting import sizes_text, spread_time_text
from roofscope.app.presentation.verdict_text import ceiling_name, share_text
from roofscope.profiling.analysis.verdict import verdict
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
        """``NVIDIA H200 (recorded): 12.3 µs, 91 % of DRAM copy, at 16Mi; of a source that has changed``."""
        parts = [self.time, self.share, "" if self.is_same_size else f"at {self.sizes}"]
        changed = "" if self.is_same_source else "; of a source that has changed since"
        return f"{self.device} (recorded): {', '.join(filter(None, parts))}{changed}"


def recorded_time(point: Point, recorded: Session) -> RecordedTime | None:
    """None where that session has no time of this version in this element type."""
    wanted = point.job.workload
    found = [
        other
        for other in recorded.points
        if other.measured
        and other.implementation.key == point.implementation.key
        and other.job.workload.dtype is wanted.dtype
    ]
    if not found:
        return None
    best = max(
        found, key=lambda other: (other.job.workload.sizes == wanted.sizes, _bytes(other), other.number)
    )
    assert best.measured
    time, device = best.measured.time, recorded.device_of(best)
    judged = verdict(best, recorded)
    share = f"{share_text(judged)} of {ceiling_name(judged.limiter)}" if judged.limiter else ""
    return RecordedTime(
        device.name if device else "Another machine",
        spread_time_text(time.median_s, time.bounds_s, len(time.samples_s)),
        share,
        sizes_text(best.job.workload.sizes),
        best.job.workload.sizes == wanted.sizes,
        best.implementation.source_hash == point.implementation.source_hash,
        recorded.path.name,
        best.recorded_at.partition("T")[0],
    )


def recorded_section(point: Point, recorded: Session | None) -> Section:
    """Beside what was found without a GPU; empty where nothing was recorded."""
    found = recorded_time(point, recorded) if recorded else None
    if found is None:
        return Section("", ())
    return section(
        "Recorded on another machine",
        Fact("Device", found.device, f"{found.session}, {found.date}"),
        Fact("Time", found.time, "Of that machine and not of this one"),
        Fact("Of its roof", found.share),
        Fact("Sizes", found.sizes if not found.is_same_size else f"{found.sizes}, the same"),
        Fact("Source", "the same" if found.is_same_source else "changed since", "By the hash of its files"),
    )


def example_session(path: Path) -> Session | None:
    """The session that came with the program; None where it cannot be read."""
    try:
        return load(path)
    except SessionError:
        return None


def _bytes(point: Point) -> int:
    return point.job.work.byte_count
