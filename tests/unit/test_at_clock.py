"""Times whose clock moves: brought to one clock where the blocks show how they follow it."""

import math
import random
from collections.abc import Sequence
from statistics import median

import pytest

from roofscope.profiling.analysis.at_clock import Timed, ratio_at_clock, time_at_clock
from roofscope.profiling.analysis.quantiles import student_t
from roofscope.profiling.analysis.statistics import median_interval, ratio_interval

FULL_HZ = 1980e6
SLOW_HZ = FULL_HZ / 1.05
NOISE = 0.004


def blocks(
    rng: random.Random, clocks_hz: Sequence[float], core: float, at_full_s: float = 1.0
) -> tuple[list[float], list[float]]:
    """Times and clocks of a call that follows the clock by ``core``; readings jitter."""
    times = [at_full_s * (hz / FULL_HZ) ** -core * math.exp(rng.gauss(0, NOISE)) for hz in clocks_hz]
    return times, [hz * math.exp(rng.gauss(0, 0.0005)) for hz in clocks_hz]


MOSTLY_SLOW = [FULL_HZ] * 8 + [SLOW_HZ] * 12


@pytest.mark.parametrize("core", [0.0, 0.5, 1.0])
def test_blocks_on_two_clocks_give_the_time_at_the_fresh_one(core: float) -> None:
    rng, held = random.Random(1), 0
    for _ in range(300):
        found = time_at_clock(*blocks(rng, MOSTLY_SLOW, core), FULL_HZ)
        assert found.clock_hz == pytest.approx(FULL_HZ, rel=0.002)
        assert found.to_fresh == found.interval
        held += found.interval.low <= 1.0 <= found.interval.high
    assert held >= 285


def test_a_plain_median_of_two_clocks_is_that_of_the_slower() -> None:
    times, clocks_hz = blocks(random.Random(2), MOSTLY_SLOW, core=1.0)
    assert median_interval(times).median == pytest.approx(1.05, abs=0.005)
    assert time_at_clock(times, clocks_hz, FULL_HZ).interval.median == pytest.approx(1.0, abs=0.005)
    assert time_at_clock(times, clocks_hz).interval.median == pytest.approx(
        1.05, abs=0.006
    )  # held: a condition


def test_the_error_of_the_slope_widens_the_interval() -> None:
    times, clocks_hz = blocks(random.Random(3), MOSTLY_SLOW, core=1.0)
    at_fresh, at_median = (time_at_clock(times, clocks_hz, hz).interval for hz in (FULL_HZ, None))
    assert at_fresh.relative_half_width > at_median.relative_half_width


@pytest.mark.parametrize("sag", [0.02, 0.14])
def test_a_fresh_clock_that_no_block_found_leaves_room_for_its_time(sag: float) -> None:
    times, clocks_hz = blocks(random.Random(4), [FULL_HZ * (1 - sag)] * 12, core=1.0)
    found = time_at_clock(times, clocks_hz, FULL_HZ)
    assert found.interval == found.interval
    assert found.to_fresh.low <= 1.0 < found.interval.low
    assert found.to_fresh.high == found.interval.high
    assert found.clock_hz == pytest.approx(FULL_HZ * (1 - sag), rel=0.002)


def test_a_clock_that_only_jitters_changes_nothing() -> None:
    times, clocks_hz = blocks(random.Random(5), [FULL_HZ] * 12, core=1.0)
    found = time_at_clock(times, clocks_hz, FULL_HZ * 1.001)
    plain = median_interval(times)
    assert found.interval.median == plain.median
    assert found.interval.relative_half_width == pytest.approx(plain.relative_half_width, abs=0.002)


def test_without_a_clock_of_each_block_the_blocks_speak_alone() -> None:
    times, clocks_hz = blocks(random.Random(6), MOSTLY_SLOW, core=1.0)
    assert time_at_clock(times, [None, *clocks_hz[1:]], FULL_HZ).interval == median_interval(times)
    assert time_at_clock(times, [None] * 20, FULL_HZ).clock_hz is None


def test_one_disturbed_block_does_not_lead_the_line() -> None:
    times, clocks_hz = blocks(random.Random(7), MOSTLY_SLOW, core=1.0)
    times[0] *= 1.6
    found = time_at_clock(times, clocks_hz, FULL_HZ).interval
    assert found.low <= 1.0 <= found.high
    assert found.relative_half_width < 0.02


def test_core_and_memory_bound_are_compared_at_the_clock_of_both_times() -> None:
    """They are equal at the full clock; at the slower one the first takes 5 % more."""
    rng, held, plain = random.Random(8), 0, 0
    for _ in range(200):
        levels = rng.sample(MOSTLY_SLOW, 20)
        core, memory = blocks(rng, levels, core=1.0), blocks(rng, levels, core=0.0)
        found = ratio_at_clock(Timed(*core, FULL_HZ), Timed(*memory, FULL_HZ))
        held += found.low <= 1.0 <= found.high
        unaware = ratio_interval(core[0], memory[0])
        plain += unaware.low <= 1.0 <= unaware.high
    assert held >= 190
    assert plain < 100


def test_a_clock_that_changes_within_a_round_makes_no_difference() -> None:
    rng, different = random.Random(9), 0
    widths: list[tuple[float, float]] = []
    for _ in range(200):
        levels = [rng.choice((FULL_HZ, SLOW_HZ)) for _ in range(48)]
        one, other = blocks(rng, levels[::2], core=1.0), blocks(rng, levels[1::2], core=1.0)
        found = ratio_at_clock(Timed(*one, FULL_HZ), Timed(*other, FULL_HZ))
        widths.append((found.relative_half_width, ratio_interval(one[0], other[0]).relative_half_width))
        different += found.distinguishable
    assert different <= 10
    aware, unaware = (median(column) for column in zip(*widths, strict=True))
    assert aware < 0.5 * unaware


def test_what_holds_a_lower_clock_by_itself_is_not_excused() -> None:
    """Its power makes the clock fall, which is its own doing and in its time."""
    rng = random.Random(10)
    hungry, other = blocks(rng, [SLOW_HZ] * 20, core=1.0), blocks(rng, [FULL_HZ] * 20, core=1.0)
    assert ratio_at_clock(Timed(*hungry, SLOW_HZ), Timed(*other, FULL_HZ)).ratio == pytest.approx(
        1.05, abs=0.005
    )


@pytest.mark.parametrize(
    ("degrees", "alpha", "quantile"),
    [(1, 0.05, 12.706), (2, 0.05, 4.303), (4, 0.01, 4.604), (7, 0.005, 4.029), (30, 0.001, 3.646)],
)
def test_quantiles_are_those_of_the_tables(degrees: int, alpha: float, quantile: float) -> None:
    assert student_t(degrees, alpha) == pytest.approx(quantile, abs=6e-4)
