"""What limits a point below its roofs: each cause by its figure, in the order of proof."""

from collections import Counter

import msgspec
import pytest

from roofscope.app.presentation.limiter_text import elasticity_text, evidence_text, limiter_section
from roofscope.app.presentation.verdict_text import verdict_sentence
from roofscope.profiling.analysis import limiter
from roofscope.profiling.analysis.limiter import NEAR_ROOF, Cause, Finding, wave_efficiency
from roofscope.profiling.analysis.verdict import Verdict, VerdictKind, verdict
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.outcome import (
    BuildInfo,
    ClockElasticity,
    Launch,
    Measured,
    Method,
    ProfiledKernel,
    TimeStats,
)
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.tests import sessions
from roofscope.tests.recorded import kept

COPY_S = 2**30 / 4277e9  # of the invented gelu at 2**27 float32
SMALL_COPY_S = 2**23 / 4277e9  # and at 2**20
PRODUCT_S = 2 * 8192**3 / 796e12
ROOFS = (VerdictKind.MEMORY_BOUND, VerdictKind.COMPUTE_BOUND)


def plain(median_s: float, **changes: object) -> Measured:
    """One kernel a call, no hot reading, nothing spilled: no evidence but what is put in."""
    outcome = sessions.measured(median_s, host_s=median_s)
    return msgspec.structs.replace(outcome, **{"hot": None, **changes})


def judged(
    outcome: Measured, kernel: str = "gelu", dtype: Dtype = Dtype.FLOAT32, preset: str = "large"
) -> tuple[Verdict, str]:
    job = sessions.job(kernel, dtype, preset, "job-1")
    point = Point(1, job, job.implementations[0], outcome, sessions.RECORDED_AT)
    session = sessions.empty_session(ceilings=sessions.CEILINGS)
    session.points = (point,)
    found = verdict(point, session)
    return found, verdict_sentence(point, found)


def hot(seconds: float) -> TimeStats:
    return TimeStats(seconds, seconds, seconds, (seconds,), 8)


def kernels(*shares: float, of: float) -> tuple[ProfiledKernel, ...]:
    return tuple(ProfiledKernel(f"kernel_{n}", 1.0, share * of) for n, share in enumerate(shares))


def follows(value: float, half: float = 0.03) -> ClockElasticity:
    return ClockElasticity(value, value - half, value + half, 1450e6, 1980e6, 27)


def build(**facts: int) -> BuildInfo:
    return BuildInfo(0.04, **facts)  # pyright: ignore[reportArgumentType]


def proven_by(cause: Cause, outcome: Measured, **where: str) -> str:
    """The sentence, once this cause is the one that names the limiter."""
    found, sentence = judged(outcome, **where)  # pyright: ignore[reportArgumentType]
    assert found.proof is not None
    assert found.proof.cause is cause
    return sentence


def test_nothing_known_is_said_so() -> None:
    found, sentence = judged(plain(COPY_S / 0.3))
    assert (found.kind, found.evidence, found.proof) == (VerdictKind.UNKNOWN, (), None)
    assert sentence.startswith("On no roof: 30 % of the DRAM copy ceiling; 3.33× is left")


def test_launches_are_named_where_they_take_a_third_of_the_time() -> None:
    floor_s, seconds = 1.5e-6, SMALL_COPY_S / 0.45
    outcome = plain(seconds)
    evidence = msgspec.structs.replace(outcome.evidence, launch_floor_s=floor_s)
    outcome = msgspec.structs.replace(outcome, evidence=evidence)
    sentence = proven_by(Cause.LAUNCHES, outcome, preset="small")
    assert sentence.startswith("Launch latency: launches alone take 34 % of the time, 1.5 µs each; 45 % of")
    quick = msgspec.structs.replace(evidence, launch_floor_s=1e-6)
    found, _ = judged(msgspec.structs.replace(outcome, evidence=quick), preset="small")
    assert found.kind is VerdictKind.UNKNOWN
    # Events have the host's time in them, to which a graph's floor says nothing.
    found, _ = judged(msgspec.structs.replace(outcome, method=Method.EVENTS), preset="small")
    assert found.kind is VerdictKind.UNKNOWN


def test_gaps_between_kernels_are_named_before_the_kernels() -> None:
    seconds = COPY_S / 0.3
    sentence = proven_by(Cause.GAPS, plain(seconds, kernels=kernels(0.4, 0.3, of=seconds)))
    assert "Bound by gaps between its kernels: 30 % of the time lies between its 2 kernels; 30 %" in sentence
    sentence = proven_by(Cause.KERNELS, plain(seconds, kernels=kernels(0.5, 0.49, of=seconds)))
    assert sentence.startswith("Several kernels: 2 kernels a call, of which the longest takes 51 % of")


def test_a_second_kernel_that_hardly_counts_is_not_the_limiter() -> None:
    seconds = COPY_S / 0.3
    found, _ = judged(plain(seconds, kernels=kernels(0.9, 0.1, of=seconds)))
    assert found.kind is VerdictKind.UNKNOWN
    assert [(each.cause, each.decides) for each in found.evidence] == [(Cause.KERNELS, False)]
    # Under a pipe, what several kernels pass on through memory is not what a product waits for.
    seconds = PRODUCT_S / 0.3
    found, _ = judged(plain(seconds, kernels=kernels(0.5, 0.5, of=seconds)), "matmul", Dtype.BFLOAT16)
    assert found.kind is VerdictKind.UNKNOWN


@pytest.mark.parametrize(
    ("held_hz", "reasons", "kind", "start"),
    [
        (1500e6, ("power cap",), "held clock", "Held by the clock: at the 1500 MHz that the power cap holds"),
        (1500e6, (), "held clock", "Held by the clock: at the 1500 MHz that it held, it is at 66 % of"),
        (1900e6, ("power cap",), "on no roof", "On no roof"),
        (1970e6, (), "on no roof", "On no roof"),
    ],
)
def test_a_low_clock_is_named_where_it_explains_the_distance(
    held_hz: float, reasons: tuple[str, ...], kind: str, start: str
) -> None:
    outcome = plain(PRODUCT_S / 0.5)
    evidence = msgspec.structs.replace(outcome.evidence, clock_hz=held_hz, event_reasons=reasons)
    job = sessions.job("matmul", Dtype.BFLOAT16, "large", "job-1")
    outcome = msgspec.structs.replace(outcome, evidence=evidence)
    point = Point(1, job, job.implementations[0], outcome, sessions.RECORDED_AT)
    ceilings = [msgspec.structs.replace(each, clock_hz=1980e6) for each in sessions.CEILINGS]
    session: Session = sessions.empty_session(ceilings=ceilings)
    found = verdict(point, session)
    assert found.kind == kind
    assert verdict_sentence(point, found).startswith(start)


@pytest.mark.parametrize(
    ("elasticity", "kind"),
    [(1.0, "core-bound"), (0.8, "core-bound"), (0.5, "core and memory"), (0.1, "waits for memory")],
)
def test_the_clock_tells_cores_from_memory(elasticity: float, kind: str) -> None:
    found, sentence = judged(plain(COPY_S / 0.3, clock_elasticity=follows(elasticity)))
    assert found.kind == kind
    assert f"(elasticity {elasticity:.2f})" in sentence
    blurred, _ = judged(plain(COPY_S / 0.3, clock_elasticity=follows(elasticity, half=0.3)))
    assert blurred.kind is VerdictKind.UNKNOWN


def test_cold_caches_that_cost_a_third_of_the_time_are_a_wait_for_memory() -> None:
    seconds = COPY_S / 0.3
    sentence = proven_by(Cause.COLD, plain(seconds, hot=hot(seconds / 1.6)))
    assert sentence.startswith("Waits for memory: cold caches make it take 1.60× the time of hot ones")
    found, _ = judged(plain(seconds, hot=hot(seconds / 1.3)))
    assert found.kind is VerdictKind.UNKNOWN
    # The clock says that it does not wait for memory.
    found, _ = judged(plain(seconds, hot=hot(seconds / 1.6), clock_elasticity=follows(1.0)))
    assert found.kind is VerdictKind.CORE_BOUND


def test_as_fast_from_the_cache_is_not_memory_where_the_data_fit() -> None:
    seconds = SMALL_COPY_S / 0.05
    sentence = proven_by(Cause.AS_HOT, plain(seconds, hot=hot(seconds * 0.97)), preset="small")
    assert sentence.startswith("Bound on the chip, not by DRAM: cold caches cost it 3.0 % of its time; 5.0 %")
    warm = plain(seconds, hot=hot(seconds * 0.97), rotated_bytes=100 * 2**20)
    assert (
        judged(warm, preset="small")[0].kind is VerdictKind.UNKNOWN
    )  # less than two laps of L2 leave some in it
    large, _ = judged(plain(COPY_S / 0.3, hot=hot(COPY_S / 0.3)))  # evicts itself
    assert large.kind is VerdictKind.UNKNOWN


def test_what_the_code_holds_is_named() -> None:
    sentence = proven_by(Cause.DOUBLE, plain(COPY_S / 0.3, build=build(double_instructions=43)))
    assert sentence.startswith("Double arithmetic: 43 instructions of its code compute in double precision")
    sentence = proven_by(Cause.SPILLS, plain(COPY_S / 0.1, build=build(spill_bytes=432)))
    assert sentence.startswith("Spills: 432 B of registers are spilled, a thread; 10 % of the DRAM copy")
    for few in (build(double_instructions=1), build(spill_bytes=8)):
        found, _ = judged(plain(COPY_S / 0.3, build=few))
        assert found.kind is VerdictKind.UNKNOWN
        assert not found.evidence[0].decides


def test_the_cause_in_the_code_is_named_before_the_clock_that_confirms_it() -> None:
    both = plain(COPY_S / 0.3, build=build(double_instructions=43), clock_elasticity=follows(0.99))
    found, _ = judged(both)
    assert found.kind is VerdictKind.DOUBLE_ARITHMETIC
    assert [each.cause for each in found.evidence] == [Cause.DOUBLE, Cause.CORE]


def test_idle_multiprocessors_are_named() -> None:
    seconds = COPY_S / 0.3
    kernel = ProfiledKernel("gelu", 1.0, 0.99 * seconds, Launch(66, 256))
    sentence = proven_by(Cause.WAVES, plain(seconds, kernels=(kernel,)))
    assert sentence.startswith("Partial waves: its 66 blocks keep the multiprocessors busy for 50 % of the")


@pytest.mark.parametrize(
    ("blocks", "occupancy", "share"),
    [
        (66, None, 0.5),
        (132, 1.0, 1.0),
        (132 * 8, 1.0, None),  # resident all at once
        (132 * 8 + 132, 1.0, 9 / 16),
        (132 * 16, 1.0, 1.0),
        (132 * 5, 0.5, 5 / 8),  # of which four blocks are resident
        (1000, None, None),
    ],
)
def test_the_share_of_whole_waves(blocks: int, occupancy: float | None, share: float | None) -> None:
    device = msgspec.structs.replace(sessions.DEVICE, multiprocessor_count=132, compute_capability=(9, 0))
    found = wave_efficiency(blocks, 256, occupancy, device)
    assert found == (None if share is None else pytest.approx(share))
    assert (
        wave_efficiency(blocks, 256, occupancy, msgspec.structs.replace(device, multiprocessor_count=None))
        is None
    )


def test_blocks_with_hardly_a_byte_a_thread_are_named_before_their_doubles() -> None:
    """An assistant's first GELU: a program of one element, in double precision."""
    seconds, blocks = COPY_S / 0.006, 2**27
    launch = Launch(blocks, 128)
    kernel = ProfiledKernel("gelu", 1.0, 0.99 * seconds, launch)
    outcome = plain(seconds, kernels=(kernel,), build=build(double_instructions=29))
    sentence = proven_by(Cause.LITTLE_WORK, outcome)
    assert sentence.startswith("Too little work a block: each of its 134\xa0217\xa0728 blocks has 8 B to")
    found, _ = judged(outcome)
    assert [each.cause for each in found.evidence] == [Cause.LITTLE_WORK, Cause.DOUBLE]
    few = msgspec.structs.replace(kernel, launch=Launch(blocks // 256, 256))  # an element a thread
    assert judged(plain(seconds, kernels=(few,)))[0].kind is VerdictKind.UNKNOWN
    several = (kernel, msgspec.structs.replace(kernel, name="other"))
    assert Cause.LITTLE_WORK not in [
        each.cause for each in judged(plain(seconds, kernels=several))[0].evidence
    ]


def test_near_a_roof_the_roof_is_named_and_the_evidence_is_still_listed() -> None:
    outcome = plain(COPY_S / 0.8, build=build(spill_bytes=64), clock_elasticity=follows(0.02))
    found, sentence = judged(outcome)
    assert found.kind is VerdictKind.MEMORY_BOUND
    assert found.proof is None
    assert sentence.startswith("Memory-bound: 80 %")
    facts = limiter_section(found, outcome, "").facts
    assert [fact.name for fact in facts] == ["Clock", "Spills", "Traffic", "Elasticity"]
    assert facts[-1].value == "0.02 (-0.01 to 0.05), from 1450 MHz to 1980 MHz"


def test_the_details_list_first_what_names_the_limiter() -> None:
    seconds = COPY_S / 0.1
    kernel = ProfiledKernel("gelu", 1.0, 0.99 * seconds, Launch(110, 256))
    outcome = plain(seconds, kernels=(kernel,), build=build(spill_bytes=8), clock_elasticity=follows(0.97))
    found, _ = judged(outcome)
    facts = limiter_section(found, outcome, "").facts
    assert [fact.name for fact in facts] == ["Clock", "Spills", "Waves", "Elasticity"]
    assert facts[0].value == "Its time follows the SM clock (elasticity 0.97)"
    assert facts[0].tip == "This names the limiter"


def test_why_an_exact_run_knows_no_elasticity_is_shown() -> None:
    reason = "The clock moved by 1.2 % only."
    assert elasticity_text(plain(1e-3, clock_elasticity_missing=reason)) == reason
    assert elasticity_text(plain(1e-3)) == ""


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_has_words_and_a_kind(cause: Cause) -> None:
    text = evidence_text(Finding(cause, 0.5, 1.5e9))
    assert text
    assert text[0].islower() or text[0].isdigit()


# How the recorded sessions were judged before a roof had to be near, by fraction of that roof below 60 %.
WRONGLY_NAMED = {"h200": 101, "h200-gelu": 4, "h200-tour": 38}


@pytest.mark.parametrize(("name", "before"), WRONGLY_NAMED.items())
def test_no_recorded_point_is_bound_by_a_roof_that_is_far(
    name: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = load(kept(name))
    kinds = Counter(far_kinds(session))
    assert not kinds.keys() & set(ROOFS)
    assert kinds.total() >= before  # those, and what was launch-bound
    launch_bound = kinds[VerdictKind.LAUNCH_BOUND]
    monkeypatch.setattr("roofscope.profiling.analysis.verdict.NEAR_ROOF", 0.0)
    assert sum(kind in ROOFS for kind in far_kinds(session)) == before + launch_bound
    assert limiter.NEAR_ROOF == NEAR_ROOF == 0.6


def far_kinds(session: Session) -> list[VerdictKind]:
    found = [verdict(point, session) for point in session.points]
    return [each.kind for each in found if (each.fraction_of_roof or 1.0) < 0.6]
