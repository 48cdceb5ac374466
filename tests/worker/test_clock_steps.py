"""Clock steps on a GPU played by a few lines: heat lowers its clock, which rises again with time."""

import math

import pytest

pytest.importorskip("torch")

from roofscope.profiling.analysis.causal import clock_elasticity
from roofscope.profiling.results.outcome import ClockElasticity
from roofscope.profiling.worker.timing.block import BlockReading
from roofscope.profiling.worker.timing.clock_steps import STEPS, Step, clock_blocks, fitted

FAST_HZ, CAPPED_HZ = 1980e6, 1450e6
RISE_S = 0.03  # in which the clock makes up for two thirds of what it lost
CALLS = 25
CALL_S = 4e-4


class FakeGpu:
    """Its call takes ``cycles`` of the clock and waits for ``wait_s`` besides."""

    def __init__(
        self, cycles: float, wait_s: float, *, can_be_heated: bool = True, calls: int = CALLS
    ) -> None:
        self.calls_per_block = calls
        self._cycles, self._wait_s = cycles, wait_s
        self._can_be_heated = can_be_heated
        self.time_s = 0.0
        self._hz = FAST_HZ
        self.heated_s = 0.0
        self.waits = 0

    def heat(self, seconds: float) -> None:
        self.heated_s += seconds
        self.time_s += seconds
        if self._can_be_heated:
            self._hz = CAPPED_HZ + (self._hz - CAPPED_HZ) * math.exp(-seconds / 0.05)

    def wait(self) -> None:
        self.waits += 1

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds
        self._hz = FAST_HZ - (FAST_HZ - self._hz) * math.exp(-seconds / RISE_S)

    def now_s(self) -> float:
        return self.time_s

    def block(self) -> BlockReading:
        seconds = self._cycles / self._hz + self._wait_s
        reading = BlockReading(seconds, self._hz)
        self.sleep(seconds * self.calls_per_block)
        return reading


def fit(gpu: FakeGpu) -> ClockElasticity | str:
    return clock_elasticity(clock_blocks(gpu, gpu, clock=gpu))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_the_share_of_cycles_in_a_call_is_found(share: float) -> None:
    found = fit(FakeGpu(share * CALL_S * FAST_HZ, (1 - share) * CALL_S))
    assert isinstance(found, ClockElasticity)
    # At lower clocks the cycles take more of the time than at the highest one.
    low = share if share in (0.0, 1.0) else share + 0.01
    assert low - 1e-6 <= found.value <= share / (share + (1 - share) * CAPPED_HZ / FAST_HZ) + 1e-6
    assert found.clock_high_hz / found.clock_low_hz > 1.1


def test_the_budget_ends_the_cycles_and_three_come_first() -> None:
    gpu = FakeGpu(CALL_S * FAST_HZ, 0.0)
    blocks = clock_blocks(gpu, gpu, budget_s=3.0, clock=gpu)
    assert 3.0 <= gpu.time_s < 4.0
    assert max(block.cycle for block in blocks) > 3
    hurried = FakeGpu(CALL_S * FAST_HZ, 0.0)
    assert max(block.cycle for block in clock_blocks(hurried, hurried, budget_s=0.0, clock=hurried)) == 2


def test_every_cycle_has_all_steps_in_a_new_order() -> None:
    gpu, orders = FakeGpu(CALL_S * FAST_HZ, 0.0), list[list[Step]]()

    def reverse(steps: list[Step]) -> None:
        if len(orders) % 2:
            steps.reverse()
        orders.append(list(steps))

    blocks = clock_blocks(gpu, gpu, budget_s=0.0, clock=gpu, shuffle=reverse)
    assert orders[0] == list(STEPS)
    assert orders[1] == list(reversed(STEPS))
    a_cycle = sum(step.blocks for step in STEPS)
    assert [block.cycle for block in blocks] == [c for c in range(3) for _ in range(a_cycle)]


def test_a_rest_begins_when_the_heat_has_ended() -> None:
    gpu = FakeGpu(CALL_S * FAST_HZ, 0.0)
    clock_blocks(gpu, gpu, budget_s=0.0, clock=gpu)
    assert gpu.waits == 3 * sum(step.rest_s > 0 for step in STEPS)


def test_a_device_that_heat_does_not_slow_has_a_reason() -> None:
    found = fit(FakeGpu(CALL_S * FAST_HZ, 0.0, can_be_heated=False))
    assert isinstance(found, str)
    assert "The clock moved by 0.0 % only" in found


def test_long_blocks_and_unread_clocks_are_left_alone() -> None:
    long = FakeGpu(CALL_S * FAST_HZ, 0.0, calls=1000)
    assert clock_blocks(long, long, clock=long) == []
    assert long.heated_s == 0

    class Clockless(FakeGpu):
        def block(self) -> BlockReading:
            return BlockReading(CALL_S, None)

    clockless = Clockless(0.0, CALL_S)
    assert clock_blocks(clockless, clockless, clock=clockless) == []
    assert clockless.heated_s == 0


def test_no_blocks_are_a_reason() -> None:
    found = fitted([])
    assert isinstance(found, str)
    assert found.startswith("No block was timed at another clock")
