"""Blocks of one call at several SM clocks, without a right to set clocks: rests raise it, heat lowers it.

Behind a load that meets the power cap, the clock stands low and rises again within some tens of
milliseconds. So blocks that follow heat at once, blocks a little later and rested blocks differ by 5 to 30 %
in their clock, in the same second and on the same buffers.
"""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch

from roofscope.profiling.analysis.causal import ClockBlock, clock_elasticity
from roofscope.profiling.devices.device import Device
from roofscope.profiling.results.outcome import ClockElasticity
from roofscope.profiling.worker.environment import free_bytes
from roofscope.profiling.worker.timing.block import BlockReading
from roofscope.profiling.worker.timing.energy import Clock, SystemClock, cuda_mark

BUDGET_S = 1.5
_FIRST_HEAT_S = 0.3  # the power cap comes up to half a second into a load
_LONGEST_BLOCK_S = 0.06  # a block much longer than the clock stays low has the clock of its own load
_LEAST_CYCLES = 3
_LARGEST_SIDE, _SMALLEST_SIDE = 8192, 1024
_MOST_SHARE_OF_MEMORY = 1 / 8


class Step(NamedTuple):
    """What precedes some blocks: heat, then a rest."""

    heat_s: float
    rest_s: float
    blocks: int


# Of heated steps several blocks in a row, because each finds the clock a little higher than the one before.
STEPS = (Step(0.04, 0.0, 3), Step(0.1, 0.0, 3), Step(0.06, 0.015, 1), Step(0.0, 0.08, 1), Step(0.0, 0.03, 1))


class Timer(Protocol):
    """The part of a BlockTimer that is used."""

    calls_per_block: int

    def block(self) -> BlockReading: ...


class Heater(Protocol):
    """Work that draws as much power as the device may draw."""

    def heat(self, seconds: float) -> None:
        """Queue about this much of it, and return."""
        ...

    def wait(self) -> None:
        """Until all that is queued is done."""
        ...


class MatmulHeater:
    """Products of half-precision noise, on any GPU among what draws the most. Raises OutOfMemoryError."""

    def __init__(self, device: Device) -> None:
        side, room = _LARGEST_SIDE, _MOST_SHARE_OF_MEMORY * free_bytes(device)
        while 3 * 2 * side * side > room and side > _SMALLEST_SIDE:
            side //= 2
        target = torch.device(device.id)
        generator = torch.Generator(target).manual_seed(2026)
        self._a, self._b, self._product = (
            torch.empty(side, side, dtype=torch.float16, device=target).uniform_(-1, 1, generator=generator)
            for _ in range(3)
        )
        self._calls(2)  # loads the library and its kernel
        start = cuda_mark()
        self._calls(5)
        end = cuda_mark()
        end.synchronize()
        self._call_s = start.elapsed_time(end) * 1e-3 / 5

    def heat(self, seconds: float) -> None:
        self._calls(max(1, round(seconds / self._call_s)))

    def wait(self) -> None:
        cuda_mark().synchronize()

    def _calls(self, count: int) -> None:
        for _ in range(count):
            torch.mm(self._a, self._b, out=self._product)


def heated_blocks(timer: Timer, device: Device) -> list[ClockBlock]:
    """Blocks at several clocks of this GPU; empty where a clock cannot be moved or read.

    It runs where the timer is. What the blocks say is for the process that judges: ``fitted``.
    """
    try:
        return clock_blocks(timer, MatmulHeater(device))
    except torch.cuda.OutOfMemoryError:
        return []


def fitted(blocks: Sequence[ClockBlock]) -> ClockElasticity | str:
    """The elasticity of a call, or one sentence on why it is not known."""
    if not blocks:
        return (
            "No block was timed at another clock: the clock cannot be read, a block is so long that it has "
            "the clock of its own load, or no memory is left for the load that lowers it."
        )
    return clock_elasticity(blocks)


def clock_blocks(
    timer: Timer,
    heater: Heater,
    budget_s: float = BUDGET_S,
    *,
    clock: Clock | None = None,
    shuffle: Callable[[list[Step]], None] = random.shuffle,
) -> list[ClockBlock]:
    """Blocks of several cycles of all steps, in random order, until the budget is spent.

    There are three cycles at least. The steps of a cycle share its temperature, so only comparisons within
    one are free of drift. Empty where a block is too long for a clock to stay, or its clock is not read.
    """
    clock = clock or SystemClock()
    trial = timer.block()
    if trial.clock_hz is None or trial.seconds * timer.calls_per_block > _LONGEST_BLOCK_S:
        return []
    started = clock.now_s()
    heater.heat(_FIRST_HEAT_S)
    found: list[ClockBlock] = []
    cycle = 0
    while cycle < _LEAST_CYCLES or clock.now_s() - started < budget_s:
        steps = list(STEPS)
        shuffle(steps)
        for step in steps:
            found += _blocks_of(step, cycle, timer, heater, clock)
        cycle += 1
    return found


def _blocks_of(step: Step, cycle: int, timer: Timer, heater: Heater, clock: Clock) -> list[ClockBlock]:
    """Without a rest, blocks are queued right behind the heat, so that the device never idles between."""
    if step.heat_s:
        heater.heat(step.heat_s)
    if step.rest_s:
        heater.wait()
        clock.sleep(step.rest_s)
    readings = [timer.block() for _ in range(step.blocks)]
    return [ClockBlock(cycle, reading.clock_hz, reading.seconds) for reading in readings if reading.clock_hz]
