"""The devices of this machine, without torch."""

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable


def local_devices() -> tuple[Device, ...]:
    """GPUs in torch's order, then the CPU."""
    try:
        with NvmlReader() as reader:
            gpus = reader.devices()
    except NvmlUnavailable:
        gpus = ()
    return (*gpus, cpu_device())


def default_device(devices: tuple[Device, ...]) -> Device:
    """The first GPU that CUDA can use, else the CPU: the program does its real job on either."""
    return next((device for device in devices if device.kind is DeviceKind.CUDA), devices[-1])
