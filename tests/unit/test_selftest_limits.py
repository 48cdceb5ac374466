"""What passes and what fails, from figures alone."""

import random

import pytest

from roofscope.profiling.analysis.agreement import Agreement
from roofscope.profiling.analysis.selftest_limits import (
    LIMITS,
    PLANTED_SLEEP_S,
    Quiet,
    Rate,
    fit_line,
    judge_agreement,
    judge_cold,
    judge_durations,
    judge_noise,
    judge_same,
    judge_slowdown,
    judge_traps,
    judge_work,
    judged_beside_noise,
    skipped,
)
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.results.outcome import Meanwhile
from roofscope.profiling.results.proof import Judgement, Proof, ProofName, Row, Unit

KNOWN_S = (2e-6, 5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 1000e-6)
SAME = Comparison(1.0002, 0.999, 1.001)
DIFFERENT = Comparison(1.0002, 1.0001, 1.0003)
SLOWER = Comparison(1.0099, 1.008, 1.011)
FASTER = Comparison(0.99, 0.988, 0.992)


def test_every_proof_states_its_limit() -> None:
    assert set(LIMITS) == set(ProofName)


def test_one_constant_offset_is_a_straight_line() -> None:
    line = fit_line(KNOWN_S, [known + 2.88e-6 for known in KNOWN_S])
    assert line.slope == pytest.approx(1.0)
    assert line.offset_s == pytest.approx(2.88e-6)
    assert line.is_straight


@pytest.mark.parametrize(
    ("readings_s", "passed"),
    [
        ([known + 1.1e-6 for known in KNOWN_S], True),
        ([known * 1.0019 + 1.1e-6 for known in KNOWN_S], True),
        ([known * 1.0025 + 1.1e-6 for known in KNOWN_S], False),  # a slope
        ([known * 0.9975 for known in KNOWN_S], False),
        ([known + (1.5e-6 if known == 10e-6 else 1.1e-6) for known in KNOWN_S], False),  # no one offset
    ],
)
def test_known_durations(readings_s: list[float], passed: bool) -> None:
    assert judge_durations(KNOWN_S, readings_s, None).passed is passed
    straight = [known + 2.9e-6 for known in KNOWN_S]
    proof = judge_durations(KNOWN_S, straight, readings_s)  # single calls are held to the same line
    assert proof.passed is passed
    assert len(proof.rows) == len(KNOWN_S)
    assert {len(row.values) for row in proof.rows} == {len(proof.columns)}
    assert "2.90 µs" in proof.finding


def test_equals_called_different_too_often_fail() -> None:
    assert judge_same([SAME] * 95 + [DIFFERENT] * 5, []).passed
    assert not judge_same([SAME] * 94 + [DIFFERENT] * 6, []).passed
    assert not judge_same([Comparison(1.0011, 0.99, 1.01)] * 100, []).passed  # a median difference
    proof = judge_same([SAME] * 100, [("shared", [DIFFERENT] * 20)])
    assert proof.passed  # what is for information is not judged
    assert proof.rows[1].passed is None
    assert proof.rows[1].values[:2] == (20, 20)


def test_a_slowdown_must_be_found_and_in_its_direction() -> None:
    assert judge_slowdown([SLOWER] * 95 + [SAME] * 5).passed
    assert not judge_slowdown([SLOWER] * 94 + [SAME] * 6).passed
    assert not judge_slowdown([FASTER] * 100).passed


@pytest.mark.parametrize(
    ("headline_s", "other_s", "agrees"),
    [
        (2e-6, 1.1e-6, True),  # within 1 us
        (2e-6, 0.9e-6, False),
        (100e-6, 102.9e-6, True),  # within 3 %
        (100e-6, 96.9e-6, False),
    ],
)
def test_agreement_is_within_3_percent_or_1_us(headline_s: float, other_s: float, agrees: bool) -> None:
    found = [Agreement("call", headline_s, other_s), Agreement("known to differ", 1.0, 2.0, is_judged=False)]
    proof = judge_agreement(ProofName.PROFILER, found, "CUPTI", [])
    assert proof.passed is agrees
    assert [row.passed for row in proof.rows] == [agrees, None]


@pytest.mark.parametrize(
    ("observed_s", "agrees"),
    [(None, False), (315e-6, False), (330e-6, False), (345e-6, True), (360e-6, True)],
)
def test_an_instrument_that_slows_the_call_is_judged_by_what_it_slowed(
    observed_s: float | None, agrees: bool
) -> None:
    """A kernel of 262144 blocks on an H200: 314.8 us, 342.8 by CUPTI, 345.4 by events meanwhile.

    More by events is gaps between kernels.
    """
    meanwhile = Meanwhile(observed_s) if observed_s else None
    found = Agreement("gelu cuda naive", 314.8e-6, 342.8e-6, meanwhile)
    assert found.agrees is agrees
    assert found.difference == pytest.approx(0.0889, abs=1e-4)


def test_two_instruments_at_two_clocks_are_compared_in_cycles() -> None:
    """A product of 2048^3 in bf16 on an H200: 25.98 us, 24.19 by CUPTI, which leaves gaps to rest in."""
    assert Agreement("mm", 25.98e-6, 24.19e-6, Meanwhile(30.68e-6, 1.0)).agrees is False
    assert Agreement("mm", 25.98e-6, 24.19e-6, Meanwhile(30.68e-6, 1.07)).agrees is True


def test_nothing_judged_does_not_pass() -> None:
    assert not judge_agreement(ProofName.PROFILER, [Agreement("call", 1.0, None)], "CUPTI", []).passed
    assert not judge_work([]).passed
    assert not judge_traps([Row("a trap", (), None)], Row("honest", (), True)).passed


@pytest.mark.parametrize(("hot", "cold", "passed"), [(1.6, 0.9, True), (1.4, 0.9, False), (1.6, 1.1, False)])
def test_hot_is_hot_and_cold_is_cold(hot: float, cold: float, passed: bool) -> None:
    ceiling = 4.5e12
    assert judge_cold(hot * ceiling, cold * ceiling, ceiling, "").passed is passed


@pytest.mark.parametrize(
    ("noisy_s", "host_s", "passed"),
    [
        (33.1e-6, PLANTED_SLEEP_S, True),
        (33.2e-6, PLANTED_SLEEP_S, False),  # 0.6 %
        (33e-6, 0.5 * PLANTED_SLEEP_S, False),
    ],
)
def test_noise_shows_in_host_time_only(noisy_s: float, host_s: float, passed: bool) -> None:
    timers = [Quiet("graph", 33e-6, 33e-6), Quiet("queue", 33e-6, noisy_s)]
    assert judge_noise(timers, 5e-6, 5e-6 + host_s).passed is passed


@pytest.mark.parametrize(("share", "passed"), [(0.96, True), (1.04, True), (0.94, False), (1.06, False)])
def test_known_work_lands_within_5_percent(share: float, passed: bool) -> None:
    rates = [
        Rate("copy", Unit.BANDWIDTH, 4.3e12, 4.3e12),
        Rate("fma", Unit.FLOP_RATE, share * 6e13, 6e13),
    ]
    proof = judge_work(rates)
    assert proof.passed is passed
    assert [row.values[0] for row in proof.rows] == [4.3e12, None]


def test_an_engine_that_refuses_all_proves_nothing() -> None:
    caught = Row("side stream", (), True)
    assert judge_traps([caught, Row("no streams here", (), None)], Row("honest", (), True)).passed
    assert not judge_traps([caught], Row("honest", (), False)).passed
    assert not judge_traps([caught, Row("thread", (), False)], Row("honest", (), True)).passed


def test_a_skipped_proof_says_why() -> None:
    proof = skipped(ProofName.NSIGHT_COMPUTE, "There is no ncu here.")
    assert proof == Proof(
        ProofName.NSIGHT_COMPUTE,
        None,
        "Skipped.",
        LIMITS[ProofName.NSIGHT_COMPUTE],
        reason_skipped="There is no ncu here.",
    )


def test_the_line_through_noise_is_still_the_line() -> None:
    noise = random.Random(1)
    readings = [known + 1e-6 + noise.uniform(-16e-9, 16e-9) for known in KNOWN_S]  # the clock's tick of 32 ns
    assert judge_durations(KNOWN_S, readings, None).passed


OFF = judge_work([Rate("copy", Unit.BANDWIDTH, 0.69, 1.0), Rate("product", Unit.FLOP_RATE, 1.0, 1.0)])
ON = judge_work([Rate("copy", Unit.BANDWIDTH, 0.99, 1.0)])


def test_a_failure_beside_other_work_is_inconclusive_and_says_why() -> None:
    proof = judged_beside_noise(OFF, 0.4, on_cpu=True)
    assert proof.judgement is Judgement.INCONCLUSIVE
    assert "waited for one for 0.4 s of every second" in proof.reason_inconclusive
    assert proof.finding in proof.reason_inconclusive
    assert [row.passed for row in proof.rows] == [None, True]


@pytest.mark.parametrize(
    ("proof", "waited", "on_cpu"),
    [
        (OFF, 0.01, True),  # the machine was quiet
        (ON, 0.4, True),  # it passed all the same
        (OFF, 0.4, False),  # a GPU does not wait for the host's cores
        (judge_traps([Row("trap", (), False)], Row("twin", (), True)), 0.4, True),  # no matter of time
        (Proof(ProofName.KNOWN_WORK, False, "Could not be carried out.", ""), 0.4, True),  # it broke
    ],
)
def test_nothing_else_is_excused(proof: Proof, waited: float, on_cpu: bool) -> None:
    assert judged_beside_noise(proof, waited, on_cpu=on_cpu) == proof
