"""The proof of the causal limiter passes for times of the planted mix, and fails for others."""

import math
import random

import pytest

from roofscope.profiling.analysis.causal import ClockBlock
from roofscope.profiling.analysis.causal_proof import Planted, judge_causal

TOP_HZ = 1980e6
CALL_S = 4e-4


def call(share: float, *, really: float | None = None, low_hz: float = 1450e6, label: str = "") -> Planted:
    """A call of this share of cycles, whose blocks have the times of the share that it ``really`` has."""
    true_share = share if really is None else really
    rng = random.Random(round(1000 * share))
    blocks: list[ClockBlock] = []
    for cycle in range(5):
        for step in range(5):
            hz = low_hz + (TOP_HZ - low_hz) * (step + rng.random()) / 5
            seconds = CALL_S * (true_share * TOP_HZ / hz + 1 - true_share)
            blocks.append(ClockBlock(cycle, hz, seconds * math.exp(rng.gauss(0, 0.002))))
    name = label or f"{100 * share:.0f} % cycles"
    return Planted(name, share * CALL_S * TOP_HZ, (1 - share) * CALL_S, tuple(blocks))


SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def test_planted_mixes_in_order_pass() -> None:
    proof = judge_causal([call(share) for share in SHARES])
    assert proof.passed, proof.finding
    assert [row.passed for row in proof.rows] == [True] * 5
    assert proof.rows[0].values[3] == 0.0
    assert proof.rows[-1].values[3] == 1.0
    # At lower clocks the cycles take a larger share of the time.
    assert all(
        share < (row.values[3] or 0) < share + 0.06
        for share, row in zip(SHARES[1:-1], proof.rows[1:-1], strict=True)
    )
    assert "MHz" in proof.rows[0].note


@pytest.mark.parametrize(("share", "really"), [(0.0, 0.05), (1.0, 0.95), (0.5, 0.6), (0.25, 0.15)])
def test_another_mix_than_the_planted_one_fails(share: float, really: float) -> None:
    calls = [call(each, really=really if each == share else None) for each in SHARES]
    proof = judge_causal(calls)
    assert proof.passed is False
    assert [row.passed for row in proof.rows] == [each != share for each in SHARES]


def test_values_out_of_order_fail() -> None:
    calls = [call(0.5, label="first"), call(0.46, label="second")]
    proof = judge_causal(calls)
    assert all(row.passed for row in proof.rows)
    assert proof.passed is False
    assert "not in the order planted" in proof.finding


def test_a_device_whose_clock_stands_still_skips_it() -> None:
    proof = judge_causal([call(0.0), call(1.0, low_hz=1970e6, label="spin of fixed cycles")])
    assert proof.passed is None
    assert proof.reason_skipped.startswith("Spin of fixed cycles: The clock moved by 0.")


def test_nothing_is_no_proof() -> None:
    assert judge_causal([]).passed is False
