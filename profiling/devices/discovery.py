"""The devices of this machine and their live state, without torch."""

from collections.abc import Collection

from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState
from roofscope.profiling.devices.host import cpu_device, cpu_state
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable
from roofscope.profiling.devices.sharing import READINGS, Sharing, look


class LocalDevices:
    """The GPUs that NVML shows to this process, and the CPU."""

    def __init__(self) -> None:
        self._reader: NvmlReader | None = None

    def find(self) -> tuple[Device, ...]:
        try:
            self._reader = NvmlReader()
        except NvmlUnavailable:
            # Not reported here: a machine without a GPU is a normal one, and the doctor gives the reason.
            return (cpu_device(),)
        return (*self._reader.devices(), cpu_device())

    def state(self, device: Device) -> DeviceState:
        if device.kind is DeviceKind.CPU:
            return cpu_state()
        return self._reader.state(device.uuid) if self._reader else DeviceState()

    def sharing(self, device: Device, own: Collection[int], readings: int = READINGS) -> Sharing:
        """Who else is at work there, asked while nothing of ours computes."""
        if self._reader is None or device.kind is DeviceKind.CPU:
            return Sharing()
        return look(self._reader, device.uuid, own, readings=readings)

    def close(self) -> None:
        if self._reader:
            self._reader.close()
            self._reader = None


def local_devices() -> tuple[Device, ...]:
    """GPUs in torch's order, then the CPU."""
    source = LocalDevices()
    try:
        return source.find()
    finally:
        source.close()


def default_device(devices: tuple[Device, ...]) -> Device:
    """The first GPU that CUDA can use, else the CPU: the program does its real job on either."""
    return next((device for device in devices if device.kind is DeviceKind.CUDA), devices[-1])
