"""Measured ceilings kept between sessions, so that a device is probed once and not at every start."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.paths import cache_folder
from roofscope.profiling.roofline.roofline import Ceiling

# Raised when ceilings are added or measured differently: kept ceilings are then measured again.
METHOD_VERSION = 3

# A CPU usually runs other programs too: ceilings measured while it was busy must expire. A GPU's age with
# what no key has: its cooling, and settings that the driver does not tell.
LIFETIMES = {DeviceKind.CPU: timedelta(days=7), DeviceKind.CUDA: timedelta(days=30)}

_MOST_BYTES = 4 << 20  # of a file; two dozen ceilings take 30 kB


class CacheKey(Struct, frozen=True):
    """What a measured ceiling depends on."""

    device_uuid: str
    device_kind: DeviceKind
    core_count: int | None  # of a CPU, those this process may use
    driver_version: str | None
    power_limit_w: float | None
    torch_version: str | None
    ecc_enabled: bool | None = None
    max_memory_clock_hz: float | None = None
    application_clock_hz: float | None = None
    application_memory_clock_hz: float | None = None
    method_version: int = METHOD_VERSION

    @classmethod
    def of(cls, device: Device, torch_version: str | None) -> "CacheKey":
        return cls(
            device_uuid=device.uuid,
            device_kind=device.kind,
            core_count=device.core_count,
            driver_version=device.driver_version,
            power_limit_w=device.power_limit_w,
            torch_version=torch_version,
            ecc_enabled=device.ecc_enabled,
            max_memory_clock_hz=device.max_memory_clock_hz,
            application_clock_hz=device.application_clock_hz,
            application_memory_clock_hz=device.application_memory_clock_hz,
        )


class _Entry(Struct, frozen=True):
    key: CacheKey
    saved_at: Annotated[datetime, msgspec.Meta(tz=True)]
    ceilings: tuple[Ceiling, ...]


class CeilingCache:
    """One JSON file per key. ``notify`` gets a sentence on each file that fails; nothing is raised."""

    def __init__(
        self,
        notify: Callable[[str], None],
        folder: Path | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._notify = notify
        self._now = now
        self.folder = folder or cache_folder("ceilings")

    def load(self, key: CacheKey) -> tuple[Ceiling, ...]:
        """The ceilings kept for this key; empty when there are none, or they are too old or unreadable."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                entry = decode(file.read(_MOST_BYTES + 1), _Entry, most_bytes=_MOST_BYTES)
        except FileNotFoundError:
            return ()
        except (OSError, UnreadableError) as error:
            self._notify(f"The kept ceilings in {path} cannot be read ({error}); they are measured again.")
            return ()
        is_fresh = self._now() - entry.saved_at < LIFETIMES[key.device_kind]
        return entry.ceilings if entry.key == key and is_fresh else ()

    def save(self, key: CacheKey, ceilings: Iterable[Ceiling]) -> None:
        """Keep these ceilings in place of those kept before; all or none, because a probe measures all."""
        ceilings = tuple(ceilings)
        if reason := _unfit_because(ceilings):
            self._notify(f"The ceilings are not kept, because {reason}; they hold for this session only.")
            return
        path = self._path(key)
        part = path.with_suffix(".part")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(msgspec.json.encode(_Entry(key, self._now(), ceilings)))
            part.replace(path)  # in one step, because another window may be reading it
        except OSError as error:
            self._notify(f"The ceilings cannot be kept in {path} ({error}); they hold for this session only.")

    def _path(self, key: CacheKey) -> Path:
        return self.folder / f"{hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:32]}.json"


def _unfit_because(ceilings: Sequence[Ceiling]) -> str:
    """The reason that the first unfit ceiling has, and how many are unfit; "" where all are fit."""
    unfit = [one for one in ceilings if one.conditions and one.conditions.unfit_because]
    if not unfit or unfit[0].conditions is None:
        return ""
    first = unfit[0].bound.label if len(unfit) == 1 else f"{unfit[0].bound.label} among {len(unfit)} of them"
    return f"{first} was measured {unfit[0].conditions.unfit_because}"
