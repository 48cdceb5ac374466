"""A session in memory: everything needed to redraw it, on any machine."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.generated import CodeInfo
from roofscope.profiling.results.marks import Mark, with_mark
from roofscope.profiling.results.outcome import Measured, Outcome
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Roofline, compute_bound

T = TypeVar("T")


def timestamp() -> str:
    """Now, as sessions write it: ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Setup(NamedTuple):
    """What of an environment the ceilings of its device depend on, and which device it is."""

    driver_version: str | None
    power_limit_w: float | None
    ecc_enabled: bool | None
    torch_version: str | None
    device_uuid: str | None = None

    @classmethod
    def of(cls, device: Device | None, torch_version: str | None) -> "Setup":
        if device is None:
            return cls(None, None, None, torch_version)
        return cls(
            device.driver_version, device.power_limit_w, device.ecc_enabled, torch_version, device.uuid
        )


class Origin(Struct, frozen=True):
    """An environment of a session, and the device in it: where and with what results were measured."""

    number: int  # by which outcomes and ceilings name it
    environment: Environment
    device_id: str
    recorded_at: str  # ISO 8601, UTC

    @property
    def device(self) -> Device | None:
        return self.environment.device(self.device_id)

    @property
    def setup(self) -> Setup:
        return Setup.of(self.device, self.environment.version("torch"))


class Point(Struct, frozen=True):
    """One outcome of one implementation, with all that explains it."""

    number: int  # order of arrival in the session, from 1
    job: Job
    implementation: Implementation
    outcome: Outcome
    recorded_at: str  # ISO 8601, UTC
    origin: int | None = None  # the number of its Origin

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


class Deleted(Struct, frozen=True):
    """A point that can be brought back, and what is said of it."""

    point: Point
    mark: Mark


class Session(Struct, dict=True):
    """What a session file holds: of one device, or of several that a run used; maybe several environments."""

    path: Path
    created_at: str
    environment: Environment | None = None  # the newest
    device: Device | None = None  # the one that is shown, as the newest environment describes it
    specs: dict[str, KernelSpec] = {}
    sources: dict[str, tuple[SourceFile, ...]] = {}  # by Implementation.source_hash
    ceilings: tuple[Ceiling, ...] = ()
    points: tuple[Point, ...] = ()
    traces: tuple[TraceInfo, ...] = ()
    codes: tuple[CodeInfo, ...] = ()
    marks: dict[int, Mark] = {}  # pins, notes and tags, by the point's number
    counters: dict[int, Counters] = {}  # the newest of a point, by its number
    deleted: tuple[Deleted, ...] = ()  # points that the user deleted: in the file, and nowhere else
    proofs: tuple[Proof, ...] = ()  # in the order carried out; the newest of a name counts
    identity: Identity = Identity()
    origins: tuple[Origin, ...] = ()
    ceiling_origins: tuple[int | None, ...] = ()  # the number of each ceiling's Origin
    problems: tuple[str, ...] = ()  # a sentence for each thing that its file lacks or that is left out of it
    is_damaged: bool = False
    is_newer: bool = False  # of a format that this version does not write

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Of all points, those deleted too: their numbers are taken."""
        return tuple(point.job for point in self.all_points)

    @property
    def all_points(self) -> tuple[Point, ...]:
        """Those deleted too, last."""
        return (*self.points, *(deleted.point for deleted in self.deleted))

    def delete(self, marks: Mapping[int, Mark]) -> None:
        """Leave the points of these numbers out from now on; the marks say so."""
        found = [point for point in self.points if point.number in marks]
        self.points = tuple(point for point in self.points if point.number not in marks)
        self.marks = {number: mark for number, mark in self.marks.items() if number not in marks}
        self.deleted = (*self.deleted, *(Deleted(point, marks[point.number]) for point in found))

    def bring_back(self, numbers: Collection[int]) -> bool:
        """Have deleted points again, at their places, with pin, note and tags; whether there were any."""
        found = [one for one in self.deleted if one.point.number in numbers]
        self.deleted = tuple(one for one in self.deleted if one.point.number not in numbers)
        points = (*self.points, *(one.point for one in found))
        self.points = tuple(sorted(points, key=lambda point: point.number))
        for one in found:
            self.marks = with_mark(self.marks, one.point.number, one.mark.brought_back())
        return bool(found)

    @property
    def why_fixed(self) -> str:
        """Why nothing may be added to its file, after its name; "" where it may grow."""
        if self.is_damaged:
            return "is damaged: save what is whole under another name first"
        return "is of a newer Roofscope" if self.is_newer else ""

    @property
    def newest_proofs(self) -> tuple[Proof, ...]:
        """The last one of each name, in the order of the self-test."""
        found = {proof.name: proof for proof in self.proofs}
        return tuple(found[name] for name in ProofName if name in found)

    @property
    def roofline(self) -> Roofline:
        """The newest ceiling of each bound, source and mix, of the device that is shown."""
        return self._found("shown", lambda: _newest(self._ceilings_on(self.device)))

    def roofline_of(self, point: Point) -> Roofline:
        """Of the point's device those measured with its driver, power limit and torch; else the newest."""
        return self._found(("of", point.origin), lambda: self._roofline_at(point))

    def _roofline_at(self, point: Point) -> Roofline:
        setups = {origin.number: origin.setup for origin in self.origins}
        of_device = self._ceilings_on(self.device_of(point))
        if len(set(setups.values())) < 2 or len(self.ceiling_origins) != len(self.ceilings):
            return _newest(of_device)
        mine = setups.get(point.origin or 0)
        pairs = zip(self.ceilings, self.ceiling_origins, strict=True)
        found = [ceiling for ceiling, number in pairs if setups.get(number or 0) == mine]
        return _newest(found if any(ceiling.source.is_measured for ceiling in found) else of_device)

    def _found(self, what: object, find: Callable[[], T]) -> T:
        """What follows from ceilings, origins and device, found once for each state of them.

        Every point is judged by a roofline, and thousands of points share one.
        """
        state = (self.ceilings, self.ceiling_origins, self.origins, self.device)
        kept = cast("dict[str, tuple[tuple[object, ...], dict[object, T]]]", self.__dict__)
        of_state, found = kept.get("_follows", ((), {}))
        if len(of_state) != len(state) or any(a is not b for a, b in zip(of_state, state, strict=True)):
            found = {}
            kept["_follows"] = state, found
        if what not in found:
            found[what] = find()
        return found[what]

    def _ceilings_on(self, device: Device | None) -> tuple[Ceiling, ...]:
        """Of a session of one device all, also those that name it otherwise."""
        if device is None or len(self.devices) < 2:
            return self.ceilings
        return tuple(ceiling for ceiling in self.ceilings if ceiling.device_uuid == device.uuid)

    @property
    def devices(self) -> tuple[Device, ...]:
        """Each device once, as its newest environment describes it, in the order of their ids."""
        return self._found("devices", self._find_devices)

    def _find_devices(self) -> tuple[Device, ...]:
        newest = {device.uuid: device for origin in self.origins if (device := origin.device)}
        if not newest and self.device:
            newest = {self.device.uuid: self.device}
        return tuple(sorted(newest.values(), key=lambda device: _by_number(device.id)))

    def show(self, device: Device) -> None:
        """The views show this one's ceilings from now on."""
        self.device = next((one for one in self.devices if one.uuid == device.uuid), self.device)

    def is_shown(self, point: Point) -> bool:
        """Whether a point is of the device whose ceilings are shown."""
        device = self.device_of(point) if len(self.devices) > 1 else None
        return device is None or self.device is None or device.uuid == self.device.uuid

    def origin(self, number: int | None) -> Origin | None:
        return next((origin for origin in self.origins if origin.number == number), None)

    def environment_of(self, point: Point) -> Environment | None:
        origin = self.origin(point.origin)
        return origin.environment if origin else self.environment

    def device_of(self, point: Point) -> Device | None:
        """The session's device as it was when the point was measured: its driver and power limit."""
        return self._found(("device", point.origin), lambda: self._device_at(point.origin))

    def _device_at(self, number: int | None) -> Device | None:
        origin = self.origin(number)
        return (origin.device if origin else None) or self.device

    def know(self, origin: Origin) -> None:
        """What comes from now on is measured there."""
        if self.origin(origin.number) is None:
            self.origins = (*self.origins, origin)
        self.environment = origin.environment
        if self.device is None and len(self.devices) > 1:
            self.device = self.devices[0]
        elif self.device is None or len(self.devices) < 2 or origin.device in (None, self.device):
            self.device = origin.device or self.device
        else:  # of several the one that is shown stays, in its newest description
            self.show(self.device)

    def has_measured_ceilings(self, setup: Setup) -> bool:
        """Whether ceilings were measured with this driver, power limit and torch."""
        if len(self.ceiling_origins) != len(self.ceilings):
            return any(ceiling.source.is_measured for ceiling in self.ceilings)
        origins = {origin.number for origin in self.origins if origin.setup == setup}
        pairs = zip(self.ceilings, self.ceiling_origins, strict=True)
        return any(ceiling.source.is_measured and number in origins for ceiling, number in pairs)

    def own_device(self, devices: Iterable[Device], point: Point | None = None) -> Device | None:
        """The device that the session, or one point of it, belongs to, if it is among these."""
        mine = self.device_of(point) if point else self.device
        return next((device for device in devices if mine and device.uuid == mine.uuid), None)

    def bound_of(self, point: Point) -> Bound | None:
        """The compute pipe that bounds a point; None where its kernel's specification is not kept."""
        spec = self.specs.get(point.implementation.kernel)
        if spec is None:
            return None
        multiplies = spec.multiplies_otherwise.get(point.implementation.stem, spec.multiplies)
        return compute_bound(spec.pipe, point.job.workload.dtype, multiplies)


def _by_number(device_id: str) -> tuple[str, int]:
    kind, _, number = device_id.partition(":")
    return kind, int(number) if number.isdecimal() else 0


def _newest(ceilings: Iterable[Ceiling]) -> Roofline:
    return Roofline(tuple({(c.bound, c.source, c.mix): c for c in ceilings}.values()))


def version(session: Session, package: str) -> str | None:
    """The version of a package where the newest points were measured."""
    return session.environment.version(package) if session.environment else None
