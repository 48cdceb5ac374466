"""The intervals are judged by how often they hold the truth, under the rules that the program runs with."""

import math
import random
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import NormalDist, median

import pytest

from roofscope.profiling.analysis.statistics import (
    Comparison,
    Interval,
    autocorrelation,
    drift,
    median_interval,
    ratio_interval,
    unstable_because,
)
from roofscope.profiling.analysis.stop_rules import (
    EXACT_STOP,
    EXACT_WARM_UP,
    QUICK_STOP,
    QUICK_WARM_UP,
    Progress,
    StopRule,
    WarmUpRule,
    is_steady,
)

Stream = Callable[[random.Random], Iterator[float]]

TRIALS = 1000  # binomial standard error 0.8 % at 93 % coverage, 1.1 % at 85 %
BLOCK_S = 0.01
NOISE = 0.004


# Streams: seconds per call, block after block; the truth is 1 where nothing else is said.


def white(rng: random.Random) -> Iterator[float]:
    while True:
        yield math.exp(rng.gauss(0, NOISE))


def outliers(rng: random.Random) -> Iterator[float]:
    """3 % of the blocks are 5 to 60 % too slow; the truth is the undisturbed time."""
    for value in white(rng):
        yield value * (1 + rng.uniform(0.05, 0.6)) if rng.random() < 0.03 else value


def autocorrelated(rng: random.Random) -> Iterator[float]:
    """AR(1), rho 0.8, standard deviation as the white noise."""
    rho, value = 0.8, rng.gauss(0, NOISE)
    while True:
        yield math.exp(value)
        value = rho * value + rng.gauss(0, NOISE * math.sqrt(1 - rho * rho))


def ramp(rng: random.Random) -> Iterator[float]:
    """The clock falls by 4 % from a cold start and settles; the truth is the settled time."""
    tau_blocks = rng.uniform(20, 60)
    for block, value in enumerate(white(rng)):
        yield value * (1 - 0.04 * math.exp(-block / tau_blocks))


def toggle(rng: random.Random) -> Iterator[float]:
    """Two clocks 2.5 % apart, the slower one for 30 % of the time and for 4 blocks at once on average."""
    is_slow = rng.random() < 0.3
    while True:
        yield math.exp(rng.gauss(0, 0.001)) * (1.025 if is_slow else 1.0)
        if rng.random() < (0.25 if is_slow else 0.25 * 0.3 / 0.7):
            is_slow = not is_slow


# 50 of 100 blocks lie below it: 50 of the 70 at the fast clock.
TOGGLE_MEDIAN = math.exp(0.001 * NormalDist().inv_cdf(0.5 / 0.7))


def warmed_up(streams: list[Iterator[float]], rule: WarmUpRule) -> int:
    """Rounds of the warm-up; the streams stand where it ended."""
    blocks: list[list[float]] = [[] for _ in streams]
    elapsed_s = 0.0
    while elapsed_s < rule.most_s and not rule.is_met(elapsed_s, blocks):
        for values, stream in zip(blocks, streams, strict=True):
            values.append(next(stream))
            elapsed_s += BLOCK_S
    return len(blocks[0])


def progress(blocks: list[float], block_s: float) -> Progress:
    return Progress(median_interval(blocks).relative_half_width, len(blocks), len(blocks) * block_s)


def measured(streams: list[Iterator[float]], rule: StopRule, block_s: float = BLOCK_S) -> list[list[float]]:
    """One round after the other, all in each, until the rule is met or the cap is reached."""
    blocks: list[list[float]] = [[] for _ in streams]
    for rounds in range(1, round(rule.cap_s / block_s) + 1):
        for values, stream in zip(blocks, streams, strict=True):
            values.append(next(stream))
        if rule.is_checkpoint(rounds) and not rule.unmet([progress(b, block_s) for b in blocks]):
            break
    return blocks


@pytest.mark.parametrize(
    ("stream", "truth", "least"),
    [
        pytest.param(white, 1.0, 0.93, id="white"),
        pytest.param(outliers, 1.0, 0.93, id="outliers"),
        pytest.param(autocorrelated, 1.0, 0.85, id="autocorrelated"),
        pytest.param(ramp, 1.0, 0.85, id="ramp"),
        pytest.param(toggle, TOGGLE_MEDIAN, 0.85, id="toggle"),
    ],
)
@pytest.mark.parametrize(
    ("stop", "warm_up"),
    [
        pytest.param(QUICK_STOP, QUICK_WARM_UP, id="quick"),
        pytest.param(EXACT_STOP, EXACT_WARM_UP, id="exact"),
    ],
)
def test_the_interval_covers_the_truth(
    stream: Stream, truth: float, least: float, stop: StopRule, warm_up: WarmUpRule
) -> None:
    rng = random.Random(11)
    covered = 0
    for _ in range(TRIALS):
        blocks = stream(rng)
        warmed_up([blocks], warm_up)
        interval = median_interval(measured([blocks], stop)[0])
        covered += interval.low <= truth <= interval.high
    assert covered / TRIALS >= least


@pytest.mark.parametrize(("stop", "most_rounds"), [(QUICK_STOP, 10), (EXACT_STOP, 31)])
def test_plain_noise_is_cheap(stop: StopRule, most_rounds: int) -> None:
    rng = random.Random(12)
    assert median(len(measured([white(rng)], stop)[0]) for _ in range(200)) <= most_rounds


def with_common_drift(rng: random.Random, slower_by: float) -> list[Iterator[float]]:
    """Two implementations on one clock that settles from a cold start, each with noise of its own."""
    tau_blocks = rng.uniform(20, 60)

    def one(factor: float) -> Iterator[float]:
        for block, value in enumerate(white(rng)):
            yield factor * value * (1 - 0.04 * math.exp(-block / tau_blocks))

    return [one(1.0 + slower_by), one(1.0)]


def share_called_different(stop: StopRule, slower_by: float, trials: int) -> float:
    rng = random.Random(13)
    called = 0
    for _ in range(trials):
        streams = with_common_drift(rng, slower_by)
        for stream in streams:
            list(islice(stream, 100))  # a second each: on purpose not warm yet
        called += ratio_interval(*measured(streams, stop)).distinguishable
    return called / trials


@pytest.mark.parametrize("stop", [QUICK_STOP, EXACT_STOP], ids=["quick", "exact"])
def test_an_implementation_is_not_called_different_from_itself(stop: StopRule) -> None:
    assert share_called_different(stop, slower_by=0.0, trials=1000) <= 0.05


def test_a_planted_difference_of_one_per_cent_is_found_at_exact() -> None:
    assert share_called_different(EXACT_STOP, slower_by=0.01, trials=300) >= 0.95


def test_a_difference_of_three_per_cent_is_found_at_quick() -> None:
    assert share_called_different(QUICK_STOP, slower_by=0.03, trials=300) >= 0.95


def test_drift_common_to_both_leaves_the_ratio_narrow() -> None:
    rng = random.Random(14)
    clock = [1 + 0.0005 * i for i in range(60)]
    a, b = ([1.07 * c * v for c, v in zip(clock, white(rng), strict=False)] for _ in range(2))
    comparison = ratio_interval(a, [v / 1.07 for v in b])
    assert comparison.low < 1.07 < comparison.high
    assert comparison.relative_half_width < 0.2 * median_interval(a).relative_half_width


def test_a_discarded_block_takes_its_round_out_of_the_comparison() -> None:
    whole = ratio_interval([2.0, 2.2, 2.1, 2.2, 2.0], [1.0] * 5)
    ones = [1.0, 7.0, 1.0, None, 1.0, 1.0, 1.0]
    assert ratio_interval([2.0, None, 2.2, 9.0, 2.1, 2.2, 2.0], ones) == whole


def test_rounds_must_match_and_one_must_be_whole() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratio_interval([1.0, 1.0], [1.0])
    with pytest.raises(ValueError, match="at least one round"):
        ratio_interval([1.0, None], [None, 1.0])


def test_a_ratio_is_distinguishable_where_its_interval_leaves_one_out() -> None:
    assert Comparison(1.07, 1.05, 1.09).distinguishable
    assert Comparison(0.97, 0.96, 0.99).distinguishable
    assert not Comparison(1.01, 0.99, 1.03).distinguishable


def test_equal_blocks_leave_no_doubt() -> None:
    assert median_interval([2.0] * 8) == Interval(2.0, 2.0, 2.0)


def test_a_disturbed_block_does_not_move_the_estimate() -> None:
    calm = [1.00, 1.01, 0.99, 1.00, 1.01, 0.99, 1.00, 1.00, 0.99]
    assert median_interval([*calm, 50.0]).median == pytest.approx(1.0)
    assert median_interval([*calm, 50.0]).relative_half_width < 0.05


def test_neighbours_that_resemble_each_other_count_for_less() -> None:
    rng = random.Random(3)
    wandering = list(islice(autocorrelated(rng), 64))
    shuffled = rng.sample(wandering, 64)
    assert autocorrelation(wandering) > 0.5
    assert autocorrelation(shuffled) < 0.3
    assert (
        median_interval(wandering).relative_half_width > 1.5 * median_interval(shuffled).relative_half_width
    )


def test_a_trend_keeps_the_interval_wide() -> None:
    rising = [1 + 0.0002 * i for i in range(100)]
    assert median_interval(rising).relative_half_width >= 0.018


def test_a_second_level_keeps_the_interval_wide() -> None:
    """The median absolute deviation would see the first level only."""
    two_levels = [1.0, 1.001, 0.999, 1.0, 1.025, 1.026, 1.024, 1.0, 0.999, 1.001]
    assert median_interval(two_levels).relative_half_width > 0.01


@pytest.mark.parametrize("count", [5, 6, 8])
def test_few_blocks_are_not_trusted_too_far(count: int) -> None:
    """Long calls leave five blocks."""
    rng = random.Random(5)
    covered = 0
    for _ in range(TRIALS):
        interval = median_interval(list(islice(white(rng), count)))
        covered += interval.low <= 1.0 <= interval.high
    assert covered / TRIALS >= 0.93


def test_no_bound_of_a_time_falls_below_zero() -> None:
    interval = median_interval([1.0, 1.1, 9.0, 1.2, 8.0, 1.0, 7.0, 1.3])
    assert 0 < interval.low < interval.median < interval.high


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_fewer_than_five_values_have_no_interval(count: int) -> None:
    found = median_interval([0.5] * count)
    assert found == Interval(0.5, 0.0, math.inf)
    assert found.relative_half_width == math.inf
    assert not ratio_interval([2.0] * count, [1.0] * count).distinguishable


def test_no_values_and_values_not_positive_are_errors() -> None:
    with pytest.raises(ValueError, match="at least one"):
        median_interval([])
    with pytest.raises(ValueError, match="above zero"):
        median_interval([1.0, 0.0])


def test_the_rule_looks_only_at_checkpoints() -> None:
    rule = StopRule(half_width=0.01, cap_s=2.0)
    assert [n for n in range(1, 40) if rule.is_checkpoint(n)] == [8, 10, 13, 16, 20, 25, 31, 39]
    assert [n for n in range(1, 40) if EXACT_STOP.is_checkpoint(n)] == [20, 25, 31, 39]


def test_the_rule_is_met_by_narrow_intervals_and_those_beyond_hope() -> None:
    rule = StopRule(half_width=0.01, cap_s=2.0)
    narrow, wide = Progress(0.01, 8, 0.1), Progress(0.011, 8, 0.1)
    assert rule.unmet([narrow, narrow]) == set()
    assert rule.unmet([narrow, wide]) == {1}
    within_reach, hopeless = Progress(0.039, 20, 0.5), Progress(0.041, 20, 0.5)  # 1.95 and 2.05 % at the cap
    assert rule.unmet([narrow, within_reach]) == {1}
    assert rule.unmet([narrow, hopeless]) == set()
    assert rule.unmet([hopeless]) == {0}  # nobody waits for it
    assert rule.unmet([narrow, hopeless._replace(spent_s=0.49)]) == {1}  # too early to tell
    assert rule.unmet([narrow, hopeless._replace(blocks=13)]) == set()
    assert rule.unmet([narrow, hopeless._replace(blocks=12)]) == {1}


def test_the_rule_waits_for_comparisons_that_the_cap_will_make_narrow() -> None:
    rule = StopRule(half_width=0.01, cap_s=2.0, resolution=0.006, of_difference=0.1)
    narrow = [Progress(0.005, 20, 0.5)] * 3
    assert rule.unmet(narrow, [(0, 1, Progress(0.006, 20, 0.5))]) == set()
    within_reach, hopeless = Progress(0.0119, 20, 0.5), Progress(0.0121, 20, 0.5)  # half of that at the cap
    far = hopeless._replace(difference=1.0)
    assert rule.unmet(narrow, [(0, 1, far), (0, 2, within_reach)]) == {0, 2}
    assert rule.unmet(narrow, [(0, 1, hopeless)]) == set()
    assert rule.unmet(narrow, [(0, 1, hopeless._replace(spent_s=0.49))]) == {0, 1}  # too early to tell
    assert rule.unmet([Progress(0.011, 8, 0.1)], []) == {0}


def test_two_that_lie_far_apart_are_known_to_a_tenth_of_their_difference() -> None:
    rule = StopRule(half_width=0.01, cap_s=2.0, resolution=0.006, of_difference=0.1)
    narrow = [Progress(0.005, 20, 0.1)] * 2
    assert not rule.unmet(narrow, [(0, 1, Progress(0.02, 20, 0.1, difference=0.2))])
    assert rule.unmet(narrow, [(0, 1, Progress(0.021, 20, 0.1, difference=0.2))])
    assert not rule.unmet(narrow, [(0, 1, Progress(0.006, 20, 0.1, difference=0.01))])
    assert rule.unmet(narrow, [(0, 1, Progress(0.007, 20, 0.1, difference=0.01))])


def test_those_that_differ_little_go_on_together() -> None:
    """A reader who takes the fastest of equals as a baseline compares more at once than the rule asks."""
    rule = StopRule(half_width=0.01, cap_s=2.0, resolution=0.006, of_difference=0.1)
    implementations = [Progress(0.005, 20, 0.1)] * 3 + [Progress(0.02, 20, 0.1)]
    near, far = Progress(0.005, 20, 0.1, difference=0.05), Progress(0.005, 20, 0.1, difference=0.07)
    chain = [(0, 1, near), (0, 2, far), (0, 3, far), (1, 2, near), (1, 3, far), (2, 3, near)]
    assert rule.unmet(implementations, chain) == {0, 1, 2, 3}
    assert rule.unmet(implementations, [*chain[:-1], (2, 3, far)]) == {3}
    assert rule.unmet(implementations[:3], chain[:2] + chain[3:4]) == set()


def test_a_rule_without_a_resolution_takes_any_comparison() -> None:
    rule = StopRule(half_width=0.01, cap_s=2.0)
    assert not rule.unmet([Progress(0.01, 8, 0.1)] * 2, [(0, 1, Progress(0.5, 8, 0.1))])


def test_blocks_that_rest_are_not_given_up_for_one_that_was_disturbed() -> None:
    """With rests of 80 ms a quarter of the cap is over after six blocks, of which one is wide by itself."""
    rng = random.Random(5)
    calm = iter(lambda: 1.0, None)
    reached = 0
    for _ in range(200):
        blocks, _ = measured([outliers(rng), calm], QUICK_STOP, block_s=0.09)
        reached += median_interval(blocks).relative_half_width <= QUICK_STOP.half_width
    assert reached >= 185


def test_drift_is_the_change_along_the_line_shared_by_all() -> None:
    rising = [1.0 * math.exp(0.001 * i) for i in range(30)]
    assert drift([rising]) == pytest.approx(0.03, rel=0.15)  # the pulled in ends take a little off
    assert drift([rising, [7 * v for v in rising]]) == pytest.approx(drift([rising]))
    assert drift([rising[::-1]]) == pytest.approx(-drift([rising]))
    assert drift([rising, rising[::-1]]) == pytest.approx(0.0)
    assert drift([]) == drift([[]]) == drift([[1.0]]) == 0.0


def test_warm_up_ends_when_steady_and_not_before() -> None:
    calm = list(islice(white(random.Random(6)), 40))
    assert is_steady([calm], within=0.005)
    assert not is_steady([[v * (1 + 0.001 * i) for i, v in enumerate(calm)]], within=0.005)
    assert not is_steady([calm[:8]], within=0.005)  # too few to know
    assert is_steady([calm[:8], calm[8:16]], within=0.005)


def test_warm_up_needs_its_time_its_blocks_and_a_steady_clock() -> None:
    rule = WarmUpRule()
    blocks = [[1.0] * 20]
    assert rule.is_met(0.2, blocks)
    assert not rule.is_met(0.19, blocks)
    assert not rule.is_met(0.2, [[1.0] * 21])  # not a checkpoint
    assert not rule.is_met(0.2, [])
    assert rule.is_met(0.2, blocks, [1.98e9] * 20)
    assert not rule.is_met(0.2, blocks, [1.98e9 - 15e6 * (i // 4) for i in range(20)])


def test_four_implementations_share_one_warm_up() -> None:
    """Noise is soon seen to be steady, and a ramp that all share is waited for, whatever each one's level."""
    rng = random.Random(8)
    tau_rounds = 8  # 0.3 s

    def implementation(level: float, fall: float) -> Iterator[float]:
        for i, value in enumerate(white(rng)):
            yield level * value * (1 - fall * math.exp(-i / tau_rounds))

    def rounds(fall: float) -> int:
        return warmed_up([implementation(level, fall) for level in (1.0, 2.0, 5.0, 0.3)], QUICK_WARM_UP)

    assert median(rounds(fall=0.0) for _ in range(100)) <= 10
    still_to_fall = [0.04 * math.exp(-rounds(fall=0.04) / tau_rounds) for _ in range(100)]
    assert sum(left < 0.005 for left in still_to_fall) >= 90


def test_noise_is_warm_within_half_a_second() -> None:
    rng = random.Random(9)
    assert median(warmed_up([white(rng)], EXACT_WARM_UP) for _ in range(100)) <= 50


def test_unstable_says_why() -> None:
    good, wide = Interval(1.0, 0.99, 1.01), Interval(1.0, 0.9, 1.12)
    assert unstable_because(good, kept=30, discarded=10) is None
    assert unstable_because(good, kept=29, discarded=11) == (
        "11 of 40 blocks were discarded, more than a quarter."
    )
    assert unstable_because(wide, kept=40, discarded=0) == (
        "The interval is still ±11.0 % at the end, more than ±5 %."
    )
