import random

import pytest

from profiling.statistics import Interval, StopRule, autocorrelation, median_interval


def test_equal_blocks_leave_no_doubt() -> None:
    assert median_interval([2.0] * 8) == Interval(2.0, 2.0, 2.0)


def test_a_disturbed_block_does_not_move_the_estimate() -> None:
    calm = [1.00, 1.01, 0.99, 1.00, 1.01, 0.99, 1.00, 1.00]
    assert median_interval([*calm, 50.0]).median == pytest.approx(1.0)
    assert median_interval([*calm, 50.0]).relative_half_width < 0.05


def test_the_interval_covers_the_truth_on_white_noise() -> None:
    rng = random.Random(7)
    trials, covered = 600, 0
    for _ in range(trials):
        interval = median_interval([rng.gauss(1.0, 0.005) for _ in range(13)])
        covered += interval.low <= 1.0 <= interval.high
    assert covered / trials >= 0.93


def test_neighbours_that_resemble_each_other_count_for_less() -> None:
    rng = random.Random(3)
    noise = [rng.gauss(0, 1) for _ in range(64)]
    wandering = [0.0]
    for step in noise:
        wandering.append(0.95 * wandering[-1] + step)
    assert autocorrelation(wandering) > 0.6
    assert autocorrelation(noise) < 0.3
    shuffled = wandering[:]
    rng.shuffle(shuffled)
    base = [100 + value for value in wandering]
    assert (
        median_interval(base).relative_half_width
        > 1.5 * median_interval([100 + value for value in shuffled]).relative_half_width
    )


def test_no_bound_of_a_time_falls_below_zero() -> None:
    interval = median_interval([1.0, 1.1, 9.0, 1.2, 8.0, 1.0, 7.0, 1.3])
    assert 0 < interval.low < interval.median < interval.high


def test_no_values_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        median_interval([])


def test_the_rule_looks_only_at_checkpoints() -> None:
    rule = StopRule(half_width=0.01, cap_s=2.0)
    assert [n for n in range(1, 40) if rule.is_checkpoint(n)] == [8, 10, 13, 16, 20, 25, 31, 39]
    tight, loose = Interval(1.0, 0.999, 1.001), Interval(1.0, 0.9, 1.1)
    assert rule.is_met(8, [tight, tight])
    assert not rule.is_met(9, [tight, tight])
    assert not rule.is_met(8, [tight, loose])
