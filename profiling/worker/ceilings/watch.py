"""What the device does during one timed block: its SM clock in band, its state while it works."""

import time
from collections.abc import Callable
from typing import Protocol

from roofscope.profiling.devices.device import DeviceState
from roofscope.profiling.worker.timing.energy import Mark


class Clock(Protocol):
    """Marks at both ends of a block, and the mean clock between them; ``GpuClock`` is one."""

    def mark_begin(self) -> None: ...
    def mark_end(self) -> None: ...
    def hertz(self) -> float | None: ...


class Watch:
    """Observes one block. ``clock`` is None where no kernel of our own can be built."""

    def __init__(self, clock: Clock | None, read_state: Callable[[], DeviceState], every_s: float) -> None:
        self._clock = clock
        self._read_state = read_state
        self._every_s = every_s
        self.states: list[DeviceState] = []

    def begin(self) -> None:
        """Queue a mark in front of the block."""
        if self._clock:
            self._clock.mark_begin()

    def end(self) -> None:
        """Queue a mark behind it."""
        if self._clock:
            self._clock.mark_end()

    def look(self) -> None:
        """Read the state once."""
        self.states.append(self._read_state())

    def look_until(self, end: Mark) -> None:
        """Read the state until the device is past ``end``; a state read after that is of an idle device."""
        self.look()
        while True:
            time.sleep(self._every_s)
            state = self._read_state()
            if end.query():
                return
            self.states.append(state)

    @property
    def clock_hz(self) -> float | None:
        """Over the block; read it once the device is past the mark behind it."""
        return self._clock.hertz() if self._clock else None
