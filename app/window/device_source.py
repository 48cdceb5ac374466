"""The devices of this machine and their live state, for the plan bar and the device strip."""

from typing import Protocol

from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState
from roofscope.profiling.devices.host import cpu_device, cpu_state
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable


class DeviceSource(Protocol):
    """Where the window learns of devices; tests give their own."""

    def find(self) -> tuple[Device, ...]:
        """All devices, GPUs first, the CPU last. May take a second; called off the window's thread."""
        ...

    def state(self, device: Device) -> DeviceState:
        """A live reading; takes microseconds."""
        ...

    def close(self) -> None: ...


class LocalDevices:
    """The GPUs that NVML shows to this process, and the CPU."""

    def __init__(self) -> None:
        self._reader: NvmlReader | None = None

    def find(self) -> tuple[Device, ...]:
        try:
            self._reader = NvmlReader()
        except NvmlUnavailable:
            # No news: a machine without a GPU is a normal one, and the doctor tells why.
            return (cpu_device(),)
        return (*self._reader.devices(), cpu_device())

    def state(self, device: Device) -> DeviceState:
        if device.kind is DeviceKind.CPU:
            return cpu_state()
        return self._reader.state(device.uuid) if self._reader else DeviceState()

    def close(self) -> None:
        if self._reader:
            self._reader.close()
            self._reader = None
