"""The fit of time against clock is judged by how often its interval holds the planted elasticity."""

import math
import random
import statistics
from collections.abc import Callable

import pytest

from roofscope.profiling.analysis.causal import (
    LEAST_SPREAD,
    ClockBlock,
    clock_elasticity,
    student_t95,
)
from roofscope.profiling.results.outcome import ClockElasticity

TRIALS = 400  # binomial standard error 1.1 % at 95 % coverage
NOISE = 0.003
SLOW_HZ, FAST_HZ = 1400e6, 1980e6

Disturb = Callable[[random.Random, int, int], float]


def white(rng: random.Random, cycle: int, index: int) -> float:
    return rng.gauss(0, NOISE)


def outliers(rng: random.Random, cycle: int, index: int) -> float:
    """One block in twenty is 5 to 60 % too slow."""
    return math.log(1 + rng.uniform(0.05, 0.6)) if rng.random() < 0.05 else rng.gauss(0, NOISE)


def levels(rng: random.Random, cycle: int, index: int) -> float:
    """Each cycle is 1 % slower than the one before: a device that grows hot."""
    return 0.01 * cycle + rng.gauss(0, NOISE)


def stream(
    rng: random.Random,
    elasticity: float,
    disturb: Disturb = white,
    cycles: int = 6,
    low_hz: float = SLOW_HZ,
) -> list[ClockBlock]:
    """Cycles of two rested blocks and of three that follow heat, while the clock recovers."""
    blocks: list[ClockBlock] = []
    for cycle in range(cycles):
        clocks = [FAST_HZ * rng.uniform(0.995, 1.0) for _ in range(2)]
        bottom_hz = rng.uniform(low_hz, low_hz + (FAST_HZ - low_hz) / 3)
        clocks += [bottom_hz + (FAST_HZ - bottom_hz) * step / 3 for step in range(3)]
        rng.shuffle(clocks)
        for index, hz in enumerate(clocks):
            seconds = 1e-4 * (hz / FAST_HZ) ** -elasticity * math.exp(disturb(rng, cycle, index))
            read_hz = hz * (1 + rng.gauss(0, 0.0005))  # the in-band clock is read to about 0.05 %
            blocks.append(ClockBlock(cycle, read_hz, seconds))
    return blocks


def found(blocks: list[ClockBlock]) -> ClockElasticity:
    fitted = clock_elasticity(blocks)
    assert isinstance(fitted, ClockElasticity)
    return fitted


@pytest.mark.parametrize("disturb", [white, outliers, levels])
@pytest.mark.parametrize("elasticity", [0.0, 0.5, 1.0])
def test_the_interval_holds_the_planted_elasticity(elasticity: float, disturb: Disturb) -> None:
    rng = random.Random(2026)
    fits = [found(stream(rng, elasticity, disturb)) for _ in range(TRIALS)]
    held = sum(fit.low <= elasticity <= fit.high for fit in fits) / TRIALS
    bias = statistics.fmean(fit.value for fit in fits) - elasticity
    assert held >= 0.93
    assert abs(bias) < 0.002
    assert statistics.median(fit.high - fit.low for fit in fits) < 0.04


def test_a_clock_that_hardly_moved_gives_a_reason_and_no_number() -> None:
    blocks = stream(random.Random(1), 1.0, low_hz=FAST_HZ * (1 - LEAST_SPREAD / 2))
    fitted = clock_elasticity(blocks)
    assert isinstance(fitted, str)
    assert "The clock moved by" in fitted


def test_one_block_at_another_clock_is_not_a_spread() -> None:
    blocks = stream(random.Random(1), 1.0, low_hz=FAST_HZ * 0.99)
    fitted = clock_elasticity([*blocks, ClockBlock(0, SLOW_HZ, 1e-4)])
    assert isinstance(fitted, str)


@pytest.mark.parametrize(("cycles", "blocks"), [(2, 10), (0, 0)])
def test_too_few_blocks_give_a_reason(cycles: int, blocks: int) -> None:
    fitted = clock_elasticity(stream(random.Random(1), 1.0, cycles=cycles))
    assert fitted == (
        f"Only {blocks} blocks in {cycles} rounds of clock steps were timed; 12 in 3 are needed."
    )


def test_the_clocks_between_which_it_was_found_are_kept() -> None:
    blocks = stream(random.Random(3), 1.0)
    fitted = found(blocks)
    assert fitted.clock_low_hz == min(block.clock_hz for block in blocks)
    assert fitted.clock_high_hz == max(block.clock_hz for block in blocks)
    assert fitted.blocks == len(blocks)


def test_without_noise_the_line_is_exact() -> None:
    exact = [
        ClockBlock(cycle, hz, 2e-4 * (hz / FAST_HZ) ** -0.25)
        for cycle in range(4)
        for hz in (SLOW_HZ, 1600e6, FAST_HZ)
    ]
    fitted = found(exact)
    assert fitted.value == pytest.approx(0.25)
    assert fitted.high - fitted.low < 1e-6


@pytest.mark.parametrize(("degrees", "quantile"), [(2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228)])
def test_the_quantile_of_student(degrees: int, quantile: float) -> None:
    assert student_t95(degrees) == pytest.approx(quantile, rel=0.04)
