"""The devices of this machine and their live state, for the plan bar and the device strip."""

from collections.abc import Collection
from typing import Protocol

from roofscope.profiling.devices.device import Device, DeviceState
from roofscope.profiling.devices.sharing import Sharing


class DeviceSource(Protocol):
    """Where the window learns of devices; tests give their own."""

    def find(self) -> tuple[Device, ...]:
        """All devices, GPUs first, the CPU last. May take a second; called off the window's thread."""
        ...

    def state(self, device: Device) -> DeviceState:
        """A live reading; takes microseconds."""
        ...

    def sharing(self, device: Device, own: Collection[int], readings: int) -> Sharing:
        """Who else is at work there; one reading takes no time, several may take a second."""
        ...

    def close(self) -> None: ...
