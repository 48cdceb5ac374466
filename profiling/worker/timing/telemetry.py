"""The state of the device between blocks, through NVML."""

from collections.abc import Callable

from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable


def state_reader(device: Device) -> Callable[[], DeviceState]:
    """A function that reads the device's state; on a CPU or without NVML it returns an empty one."""
    if device.kind is DeviceKind.CPU:
        return DeviceState
    try:
        reader = NvmlReader()
    except NvmlUnavailable:
        return DeviceState
    return lambda: reader.state(device.uuid)
