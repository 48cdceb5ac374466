"""Invented devices, and a worker that computes nothing. Without pytest, for benchmarks and the fuzzer."""

from collections.abc import Collection

from roofscope.profiling.devices.device import Device, DeviceState
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.devices.sharing import Sharing
from roofscope.profiling.paths import module_command
from roofscope.profiling.supervision.target import LocalTarget
from roofscope.tests.sessions import DEVICE


class FakeTarget(LocalTarget, frozen=True):
    mode: str = "quick"
    marker: str = "/nonexistent"

    def argv(self) -> tuple[str, ...]:
        return (*module_command("roofscope.tests.qt.fake_worker"), self.mode, self.marker)


class FakeDevices:
    """An invented GPU, and this machine's CPU."""

    def __init__(self, devices: tuple[Device, ...] | None = None) -> None:
        self._devices = devices if devices is not None else (DEVICE, cpu_device())
        self.reading_count = 0
        self.others = Sharing()

    def find(self) -> tuple[Device, ...]:
        return self._devices

    def state(self, device: Device) -> DeviceState:
        self.reading_count += 1
        return DeviceState(clock_hz=1980e6, power_w=412.0, event_reasons=("power cap",))

    def sharing(self, device: Device, own: Collection[int], readings: int) -> Sharing:
        return self.others

    def close(self) -> None:
        pass
