"""Energy on a device played by a few lines: a queue, a counter that ticks, a sensor."""

import pytest

pytest.importorskip("torch")

from roofscope.profiling.results.outcome import Energy
from roofscope.profiling.worker.timing.energy import PowerSample, mean_power_w, measure_energy

REPLAY_S = 0.01
CALLS = 5


class FakeGpu:
    """Time passes only by sleeping, reading and waiting. Power depends on whether there is work."""

    def __init__(
        self, *, tick_s: float = 0.1, lag_s: float = 0.0, has_counter: bool = True, has_power: bool = True
    ) -> None:
        self.time_s = 100.0
        self.busy_until_s = 0.0
        self.idle_s = 0.0  # since the first replay
        self._tick_s = tick_s
        self._lag_s = lag_s
        self._has_counter = has_counter
        self._has_power = has_power
        self._started = False

    def replay(self) -> None:
        if self._started and self.busy_until_s < self.time_s:
            self.idle_s += self.time_s - self.busy_until_s
        self._started = True
        self.busy_until_s = max(self.busy_until_s, self.time_s) + REPLAY_S

    def mark(self) -> "FakeMark":
        return FakeMark(self, self.busy_until_s)

    def now_s(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds

    def energy_j(self) -> float | None:
        """500 W without end, reported late and in ticks; the reading itself takes time."""
        if not self._has_counter:
            return None
        self.time_s += 4.4e-3
        if not self._tick_s:
            return 7.0
        return 500.0 * ((self.time_s - self._lag_s) // self._tick_s) * self._tick_s

    def power_w(self) -> float | None:
        self.time_s += 1e-6
        return 510.0 if self._has_power else None


class FakeMark:
    def __init__(self, gpu: FakeGpu, at_s: float) -> None:
        self._gpu = gpu
        self.at_s = at_s

    def query(self) -> bool:
        return self._gpu.time_s >= self.at_s

    def synchronize(self) -> None:
        self._gpu.time_s = max(self._gpu.time_s, self.at_s)

    def elapsed_time(self, end_event: "FakeMark") -> float:
        return (end_event.at_s - self.at_s) * 1e3


def measure(gpu: FakeGpu, seconds: float = 1.0) -> Energy | None:
    return measure_energy(gpu.replay, CALLS, gpu, seconds, clock=gpu, mark=gpu.mark)


@pytest.mark.parametrize("tick_s", [0.01, 0.037, 0.1])
@pytest.mark.parametrize("lag_s", [0.0, 0.05])
def test_ticks_and_lag_do_not_bias_the_energy_of_a_call(tick_s: float, lag_s: float) -> None:
    gpu = FakeGpu(tick_s=tick_s, lag_s=lag_s)
    energy = measure(gpu)
    assert energy is not None
    call_s = REPLAY_S / CALLS
    # Each end is known to half the time between two readings: 2.2 ms of 1 s.
    assert energy.joules_per_call == pytest.approx(500 * call_s, rel=0.005)
    assert energy.integrated_joules_per_call == pytest.approx(510 * call_s)
    assert energy.duration_s >= 1.0
    assert energy.calls == pytest.approx(energy.duration_s / call_s, abs=1)


def test_the_device_never_rests_while_it_is_read() -> None:
    gpu = FakeGpu()
    measure(gpu)
    # Only before the queue is first filled does it wait.
    assert gpu.idle_s == 0


def test_longer_on_request() -> None:
    energy = measure(FakeGpu(), seconds=3.0)
    assert energy is not None
    assert 3.0 <= energy.duration_s < 3.3


def test_without_a_counter_there_is_no_energy_and_no_work() -> None:
    gpu = FakeGpu(has_counter=False)
    assert measure(gpu) is None
    assert gpu.busy_until_s == 0


def test_a_counter_that_stands_still_is_none() -> None:
    assert measure(FakeGpu(tick_s=0)) is None


def test_without_power_there_is_no_cross_check() -> None:
    energy = measure(FakeGpu(has_power=False))
    assert energy is not None
    assert energy.integrated_joules_per_call is None


def test_power_is_integrated_by_trapezoids_between_the_ticks() -> None:
    ramp = [PowerSample(float(second), 100.0 * second) for second in range(5)]
    assert mean_power_w(ramp, 0.5, 3.5) == pytest.approx(200)
    assert mean_power_w(ramp, 1.0, 2.0) == pytest.approx(150)
    # Uneven samples weigh by the time between them.
    uneven = [PowerSample(0.0, 100), PowerSample(1.0, 100), PowerSample(1.5, 300), PowerSample(4.0, 300)]
    assert mean_power_w(uneven, 0.0, 4.0) == pytest.approx((100 + 0.5 * 200 + 2.5 * 300) / 4)


def test_power_is_flat_beyond_its_samples() -> None:
    samples = [PowerSample(1.0, 200), PowerSample(2.0, 400)]
    assert mean_power_w(samples, 0.0, 3.0) == pytest.approx((200 + 300 + 400) / 3)
    assert mean_power_w(samples, 5.0, 6.0) is None
    assert mean_power_w([], 0.0, 1.0) is None
