"""A session in memory: everything needed to redraw it, on any machine."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.outcome import Measured, Outcome
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Roofline, compute_bound


def timestamp() -> str:
    """Now, as sessions write it: ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Point(Struct, frozen=True):
    """One outcome of one implementation, with all that explains it."""

    number: int  # order of arrival in the session, from 1
    job: Job
    implementation: Implementation
    outcome: Outcome
    recorded_at: str  # ISO 8601, UTC

    @property
    def label(self) -> str:
        return self.implementation.title

    @property
    def measured(self) -> Measured | None:
        return self.outcome if isinstance(self.outcome, Measured) else None

    @property
    def achieved_bandwidth(self) -> float | None:
        """Compulsory byte/s; None without a time."""
        if self.measured is None:
            return None
        return self.job.work.byte_count / self.measured.time.median_s

    @property
    def achieved_flop_rate(self) -> float | None:
        """FLOP/s; None without a time."""
        if self.measured is None:
            return None
        return self.job.work.flop_count / self.measured.time.median_s


class TraceInfo(Struct, frozen=True):
    """A stored profiler trace; its bytes stay in the file until asked for."""

    number: int
    job: Job
    implementation: Implementation
    recorded_at: str
    byte_count: int


class Identity(Struct, frozen=True):
    """What tells a session from others; a copy of its file keeps it. Older files have none."""

    uuid: str | None = None
    roofscope_version: str | None = None  # that began the session
    labels: dict[str, str] = {}


class Session(Struct):
    """What a session file holds. A session belongs to one device."""

    path: Path
    created_at: str
    environment: Environment | None = None
    device: Device | None = None
    specs: dict[str, KernelSpec] = {}
    sources: dict[str, tuple[SourceFile, ...]] = {}  # by Implementation.source_hash
    ceilings: tuple[Ceiling, ...] = ()
    points: tuple[Point, ...] = ()
    traces: tuple[TraceInfo, ...] = ()
    proofs: tuple[Proof, ...] = ()  # in the order carried out; the newest of a name counts
    identity: Identity = Identity()

    @property
    def roofline(self) -> Roofline:
        """The newest ceiling of each bound, source and mix."""
        newest = {(c.bound, c.source, c.mix): c for c in self.ceilings}
        return Roofline(tuple(newest.values()))

    def own_device(self, devices: Iterable[Device]) -> Device | None:
        """The device that the session belongs to, if it is among these."""
        return next((device for device in devices if self.device and device.uuid == self.device.uuid), None)

    def bound_of(self, point: Point) -> Bound:
        """The compute pipe that bounds a point."""
        spec = self.specs[point.implementation.kernel]
        return compute_bound(spec.pipe, point.job.workload.dtype, spec.multiplies)


def version(session: Session, package: str) -> str | None:
    """The version of a package where the points were measured."""
    packages = session.environment.packages if session.environment else ()
    return next((found.version for found in packages if found.name == package), None)
