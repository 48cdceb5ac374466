"""Joules per call at steady load: the board's energy counter, checked by integrated power.

It runs apart from timing, because reading the counter takes 4.4 ms. The counter moves in ticks of 10 to 100
ms, so the measurement starts and ends at observed ticks; between them the device never rests.
"""

import math
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import torch
from msgspec import Struct

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable
from roofscope.profiling.results.outcome import Energy

_SETTLE_S = 0.5  # before the first tick, for clock, voltage and the sensors' smoothing
_BATCH_S = 0.06  # queued at once; longer than any reading of the meters
_BATCHES_AHEAD = 2
_SAMPLE_S = 0.02  # between two power samples
_LONGEST_TICK_S = 1.0  # a counter that stands still for longer does not work


class EnergyReader(Protocol):
    """What a device reports of its consumption. None where it does not."""

    def energy_j(self) -> float | None: ...
    def power_w(self) -> float | None: ...


class Clock(Protocol):
    def now_s(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class Mark(Protocol):
    """A position in the device's queue; ``torch.cuda.Event`` is one."""

    def query(self) -> bool: ...
    def synchronize(self) -> None: ...
    def elapsed_time(self, end_event: Any) -> float: ...


class SystemClock:
    def now_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class NvmlEnergy:
    """The consumption of the GPU with this UUID."""

    def __init__(self, reader: NvmlReader, uuid: str) -> None:
        self._reader = reader
        self._uuid = uuid

    def energy_j(self) -> float | None:
        return self._reader.energy_j(self._uuid)

    def power_w(self) -> float | None:
        return self._reader.power_w(self._uuid)


def energy_reader(device: Device) -> EnergyReader | None:
    """The reader of a device; None on a CPU and where NVML does not answer."""
    if device.kind is DeviceKind.CPU:
        return None
    try:
        return NvmlEnergy(NvmlReader(), device.uuid)
    except NvmlUnavailable:
        return None


def cuda_mark() -> torch.cuda.Event:
    """An event at the end of what is queued now."""
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def measure_energy(
    replay: Callable[[], None],
    calls_per_replay: int,
    reader: EnergyReader,
    seconds: float = 1.0,
    *,
    clock: Clock | None = None,
    mark: Callable[[], Mark] = cuda_mark,
) -> Energy | None:
    """Replay for at least ``seconds`` between two ticks of the counter, which takes about 1 s more.

    ``replay`` queues the work of ``calls_per_replay`` calls, best some milliseconds of it, and returns. None
    where the device counts no energy or its counter stands still.
    """
    if reader.energy_j() is None:
        return None
    clock = clock or SystemClock()
    meter = _Meter(reader, clock)
    load = _Load(replay, mark, clock)
    load.hold(_SETTLE_S, meter.sample_power)
    load.restart_count()
    first = load.hold_until_tick(meter)
    load.hold(seconds, meter.sample_power)
    last = load.hold_until_tick(meter)
    call_s = load.finish() / calls_per_replay
    if first is None or last is None:
        return None
    duration_s = last.time_s - first.time_s
    mean_w = mean_power_w(meter.samples, first.time_s, last.time_s)
    return Energy(
        joules_per_call=(last.energy_j - first.energy_j) / duration_s * call_s,
        integrated_joules_per_call=None if mean_w is None else mean_w * call_s,
        duration_s=duration_s,
        calls=round(duration_s / call_s),
    )


class PowerSample(Struct, frozen=True):
    time_s: float
    power_w: float


def mean_power_w(samples: list[PowerSample], start_s: float, end_s: float) -> float | None:
    """Trapezoidal mean over [start, end] of samples in order of time, flat beyond the outermost.

    None without a sample inside.
    """
    times = [sample.time_s for sample in samples]
    inside = samples[bisect_left(times, start_s) : bisect_left(times, end_s)]
    if not inside:
        return None
    first, last = (PowerSample(at, _power_at(samples, times, at)) for at in (start_s, end_s))
    area = sum(
        (right.time_s - left.time_s) * (left.power_w + right.power_w) / 2
        for left, right in pairwise([first, *inside, last])
    )
    return area / (end_s - start_s)


def _power_at(samples: list[PowerSample], times: list[float], time_s: float) -> float:
    index = bisect_left(times, time_s)
    if index in (0, len(samples)):
        return samples[min(index, len(samples) - 1)].power_w
    left, right = samples[index - 1], samples[index]
    share = (time_s - left.time_s) / (right.time_s - left.time_s)
    return left.power_w + share * (right.power_w - left.power_w)


class _Reading(Struct, frozen=True):
    time_s: float
    energy_j: float


class _Meter:
    """Reads the power and the counter, and keeps the readings."""

    def __init__(self, reader: EnergyReader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._before: _Reading | None = None
        self.samples: list[PowerSample] = []
        self.tick: _Reading | None = None

    def sample_power(self) -> None:
        self._read_power()
        self._clock.sleep(_SAMPLE_S)

    def await_tick(self) -> None:
        """Forget the ticks seen so far."""
        self._before = self.tick = None

    def look_for_tick(self) -> None:
        """Read the counter once. A change between two readings counts as one at their middle."""
        self._read_power()
        energy_j = self._reader.energy_j()
        if energy_j is None:
            return
        now = _Reading(self._clock.now_s(), energy_j)
        if self._before and now.energy_j != self._before.energy_j:
            self.tick = _Reading((self._before.time_s + now.time_s) / 2, now.energy_j)
        self._before = now

    def _read_power(self) -> None:
        power_w = self._reader.power_w()
        if power_w is not None:
            self.samples.append(PowerSample(self._clock.now_s(), power_w))


class _Load:
    """Keeps the device's queue filled, and measures how long one replay takes meanwhile."""

    def __init__(self, replay: Callable[[], None], mark: Callable[[], Mark], clock: Clock) -> None:
        self._replay = replay
        self._mark = mark
        self._clock = clock
        self._batch = self._batch_size()
        self._counted: list[Mark] = [mark()]
        self._ahead: deque[Mark] = deque()

    def restart_count(self) -> None:
        self._counted = self._counted[-1:]

    def hold(self, seconds: float, look: Callable[[], None]) -> None:
        """Work for at least this long, and call ``look`` meanwhile."""
        until_s = self._clock.now_s() + seconds
        while self._clock.now_s() < until_s:
            self._top_up()
            look()

    def hold_until_tick(self, meter: _Meter) -> _Reading | None:
        """Keep working until the counter moves; None when it does not."""
        meter.await_tick()
        until_s = self._clock.now_s() + _LONGEST_TICK_S
        while meter.tick is None and self._clock.now_s() < until_s:
            self._top_up()
            meter.look_for_tick()
        return meter.tick

    def _top_up(self) -> None:
        while self._ahead and self._ahead[0].query():
            self._ahead.popleft()
        while len(self._ahead) < _BATCHES_AHEAD:
            for _ in range(self._batch):
                self._replay()
            self._ahead.append(self._mark())
            self._counted.append(self._ahead[-1])

    def finish(self) -> float:
        """Wait for the device; seconds of a replay since the count was restarted."""
        first, last = self._counted[0], self._counted[-1]
        last.synchronize()
        return first.elapsed_time(last) * 1e-3 / (self._batch * (len(self._counted) - 1))

    def _batch_size(self) -> int:
        self._replay()  # the first may upload the graph
        size = 1
        while True:
            start = self._mark()
            for _ in range(size):
                self._replay()
            end = self._mark()
            end.synchronize()
            elapsed_s = start.elapsed_time(end) * 1e-3
            # Doubled step by step, because the time of a short batch is mostly launch.
            if elapsed_s >= _BATCH_S / 2:
                return math.ceil(size * _BATCH_S / elapsed_s)
            size *= 2
