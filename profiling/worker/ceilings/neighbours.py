"""Other processes on the GPU while its ceilings are measured: they take their share of it."""

import os
from collections.abc import Callable, Collection

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable
from roofscope.profiling.devices.sharing import family_of


def neighbour_counter(device: Device) -> Callable[[], int]:
    """Counts the processes of others that compute on the device now; none are known on a CPU."""
    if device.kind is DeviceKind.CPU:
        return lambda: 0
    try:
        reader = NvmlReader()
    except NvmlUnavailable:
        return lambda: 0
    before = {process.pid for process in device.processes}
    return lambda: count_others(before, reader.process_ids(device.uuid), _family())


def count_others(before: Collection[int], now: Collection[int], own: Collection[int]) -> int:
    """How many processes are not ours.

    Those of ``before`` were there before this process used the device. In a container the driver's numbers
    may be those of the host: then none of ours is among them, and nothing can be said of those that came.
    """
    stayed = {pid for pid in now if pid in before and pid not in own}
    came = {pid for pid in now if pid not in before and pid not in own} if set(now) & set(own) else set[int]()
    return len(stayed | came)


def _family() -> frozenset[int]:
    """The worker's guard and all below it: neither the program nor its window has memory on a device."""
    return family_of(os.getppid())
