"""Whether somebody else is at work on a GPU: two that compute there at once take each other's time.

A container may hide other processes, or number them otherwise than the driver does. So the question is put
while nothing of ours computes: whatever keeps the GPU busy then is another's, with or without a number.
"""

import time
from collections.abc import Callable, Collection
from typing import Protocol

import psutil
from msgspec import Struct

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable

# A display server blinks a cursor, and a reading lags by up to a second.
_IDLE = 0.05
READINGS = 5
_PAUSE_S = 0.3
_NAMED = 3  # processes, in a sentence


class Gauge(Protocol):
    """What is read of NvmlReader."""

    def process_ids(self, uuid: str) -> frozenset[int]: ...
    def graphics_process_count(self, uuid: str) -> int: ...
    def utilization(self, uuid: str) -> float | None: ...
    def utilization_by_process(self, uuid: str) -> dict[int, float]: ...


class Sharing(Struct, frozen=True):
    """What others do on a GPU. Nothing, where all is as it begins."""

    holding: tuple[int, ...] = ()  # numbers of processes that have memory there, and may compute at any time
    computing: tuple[int, ...] = ()  # those of them that compute now, as far as the driver tells
    utilization: float | None = None  # of the GPU, 0 to 1, while nothing of ours computed
    is_computing: bool = False  # whether somebody does, with or without a number

    def why_not_free(self, name: str) -> str:
        """One sentence where somebody computes there; "" where nobody does."""
        if not self.is_computing:
            return ""
        who = _processes_text(self.computing or self.holding) or "Something that this system does not show"
        verb = "computes" if len(self.computing or self.holding) < 2 else "compute"
        busy = f", which is busy for {100 * self.utilization:.0f} % of the time" if self.utilization else ""
        return f"{who} {verb} on {name}{busy}."

    def notice(self, name: str) -> str:
        """One sentence where somebody may disturb; "" where nobody is there."""
        if not self.holding or self.is_computing:
            return self.why_not_free(name)
        verb = "holds" if len(self.holding) == 1 else "hold"
        return (
            f"{_processes_text(self.holding)} {verb} memory on {name} and may compute there at any time; "
            "the times carry the flag 'shared GPU'."
        )


def sharing_of(
    device: Device, own: Collection[int] = (), *, pause: Callable[[float], None] = time.sleep
) -> Sharing:
    """Ask while nothing of ours computes. ``own``: our own processes that may have memory on the device."""
    if device.kind is DeviceKind.CPU:
        return Sharing()
    try:
        with NvmlReader() as reader:
            return look(reader, device.uuid, own, pause=pause)
    except NvmlUnavailable:
        return Sharing()


def look(
    gauge: Gauge,
    uuid: str,
    own: Collection[int] = (),
    *,
    readings: int = READINGS,
    pause: Callable[[float], None] = time.sleep,
) -> Sharing:
    """Takes three seconds at most, and no time on an idle GPU."""
    holding, shares = _holding(gauge, uuid, own), gauge.utilization_by_process(uuid)
    for _ in range(readings - 1):
        if shares.keys().isdisjoint(holding):
            break
        # Also a process on its way out, such as the worker of the run before, has computed lately.
        pause(_PAUSE_S)
        holding, shares = _holding(gauge, uuid, own), gauge.utilization_by_process(uuid)
    computing = tuple(pid for pid in holding if pid in shares)
    utilization = _lowest_utilization(gauge, uuid, readings, pause)
    is_busy = utilization is not None and utilization >= _IDLE
    # Pictures are no reason. Without any, what keeps the GPU busy computes, be it in another container.
    draws = gauge.graphics_process_count(uuid) > 0
    is_other = not draws or (bool(holding) and not shares)
    return Sharing(holding, computing, utilization, bool(computing) or (is_busy and is_other))


def _holding(gauge: Gauge, uuid: str, own: Collection[int]) -> tuple[int, ...]:
    """Numbers of the processes of others, as far as they can be known from ours."""
    listed = gauge.process_ids(uuid)
    # Ours are not among them, and no such process is here: the numbers are those of the host.
    is_renumbered = bool(own) and listed.isdisjoint(own) and not any(map(psutil.pid_exists, listed))
    return () if is_renumbered else tuple(sorted(listed.difference(own)))


def family_of(pid: int | None) -> frozenset[int]:
    """A process and all that it started; empty for none."""
    if pid is None:
        return frozenset()
    try:
        process = psutil.Process(pid)
        return frozenset({pid, *(child.pid for child in process.children(recursive=True))})
    except psutil.Error:  # it is gone
        return frozenset()


def _lowest_utilization(
    gauge: Gauge, uuid: str, readings: int, pause: Callable[[float], None]
) -> float | None:
    """Of several readings: one may still show what ended just now."""
    lowest: float | None = None
    for number in range(readings):
        found = gauge.utilization(uuid)
        if found is None:
            return lowest
        lowest = found if lowest is None else min(lowest, found)
        if lowest < _IDLE:
            break
        if number < readings - 1:
            pause(_PAUSE_S)
    return lowest


def _processes_text(pids: Collection[int]) -> str:
    named = [_process_text(pid) for pid in sorted(pids)[:_NAMED]]
    more = [f"{len(pids) - _NAMED} more"] if len(pids) > _NAMED else []
    if not named:
        return ""
    words = [*named, *more]
    listed = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    return f"{'Process' if len(pids) == 1 else 'Processes'} {listed}"


def _process_text(pid: int) -> str:
    """With its user, not its name, which its owner may choose."""
    try:
        return f"{pid} of {psutil.Process(pid).username()}"
    except (psutil.Error, KeyError):
        return str(pid)
