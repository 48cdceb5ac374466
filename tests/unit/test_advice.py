"""Each rule of advice: on a recorded point where one has its evidence, else on a constructed one."""

from functools import cache

import pytest
from msgspec.structs import replace

from roofscope.profiling.analysis.advice.above_roof import AboveRoof
from roofscope.profiling.analysis.advice.access import Access
from roofscope.profiling.analysis.advice.at_roof import AtRoof
from roofscope.profiling.analysis.advice.cache_resident import CacheResident
from roofscope.profiling.analysis.advice.case import Advice, Cases
from roofscope.profiling.analysis.advice.compile_pays_not import CompilePaysNot
from roofscope.profiling.analysis.advice.doubles import Doubles
from roofscope.profiling.analysis.advice.extra_bytes import ExtraBytes
from roofscope.profiling.analysis.advice.faster_sibling import FasterSibling
from roofscope.profiling.analysis.advice.gaps import Gaps
from roofscope.profiling.analysis.advice.held_clock import HeldClock
from roofscope.profiling.analysis.advice.launch_bound import LaunchBound
from roofscope.profiling.analysis.advice.launch_latency import LaunchLatency
from roofscope.profiling.analysis.advice.little_work import LittleWork
from roofscope.profiling.analysis.advice.not_bytes import NotBytes
from roofscope.profiling.analysis.advice.occupancy import Occupancy
from roofscope.profiling.analysis.advice.partial_waves import PartialWaves
from roofscope.profiling.analysis.advice.power_cap import PowerCap
from roofscope.profiling.analysis.advice.rules import Judged, advise
from roofscope.profiling.analysis.advice.several_kernels import SeveralKernels
from roofscope.profiling.analysis.advice.special_functions import SpecialFunctions
from roofscope.profiling.analysis.advice.spills import Spills
from roofscope.profiling.analysis.advice.stay_with_eager import StayWithEager
from roofscope.profiling.analysis.advice.tensor_cores import TensorCores
from roofscope.profiling.analysis.advice.tf32 import Tf32
from roofscope.profiling.analysis.advice.throttled import Throttled
from roofscope.profiling.analysis.advice.too_small import TooSmall
from roofscope.profiling.analysis.verdict import VerdictKind, verdict
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Pipe, Provider
from roofscope.profiling.results.outcome import (
    BuildInfo,
    Evidence,
    Flag,
    Launch,
    Measured,
    MemoryUse,
    ProfiledKernel,
    TimeStats,
)
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.roofline import Bound
from roofscope.tests.recorded import recorded
from roofscope.tests.sessions import DEVICE, ceiling, make_session

# In the shipped sessions, by number: the rule fires at the first and not at the second.
RECORDED = (
    (Doubles, "h200-gelu", 6, 5),  # the textbook's constants lack an f; the sigmoid's have one
    (Doubles, "h200-gelu", 11, 12),
    (LittleWork, "h200-agent", 3, 4),  # one element a program
    (NotBytes, "h200-gelu", 6, 12),
    (StayWithEager, "h200-gelu", 10, 14),  # torch.compile in bf16 is slower; Triton is faster
    (AtRoof, "h200-gelu", 2, 10),
    (FasterSibling, "h200-gelu", 10, 14),  # which is the fastest itself
    (SeveralKernels, "h200", 22, 23),  # eager's five kernels; torch.compile made one of them
    (Access, "h200", 75, 78),  # softmax of eager and in registers
    (Access, "h200", 9, 22),  # a transposition; not what several kernels explain
    (Spills, "h200", 102, 161),  # 432 B a thread; 10 B prove nothing
    (PowerCap, "h200", 221, 206),  # a product on tensor cores; one in IEEE float32 keeps its clock
    (HeldClock, "h200", 235, 206),  # on tensor cores, without a reason of the driver
    (Tf32, "h200", 206, 219),
    (CompilePaysNot, "h200", 52, 23),
    (LaunchBound, "h200", 200, 75),
    (LaunchLatency, "h200-tour", 1, 18),
    (TooSmall, "h200-tour", 10, 40),  # 58 us are no launch
    (TensorCores, "h200-tour", 61, 59),  # FFMA, and cuBLAS
    (TensorCores, "h200-tour", 63, 62),  # and mma, whose own tiles limit it
)


@cache
def cases(name: str) -> tuple[Session, Cases]:
    session = load(recorded(name))
    return session, Cases(session)


def judged(name: str, number: int) -> Judged:
    session, found = cases(name)
    case = found.of(next(point for point in session.points if point.number == number))
    assert case is not None
    return advise(case)


def rules_of(found: Judged) -> set[type[Advice]]:
    return {type(each) for each in found.all}


@pytest.mark.parametrize(("rule", "name", "fires", "not_at"), RECORDED)
def test_a_rule_fires_where_its_evidence_is_recorded_and_nowhere_else(
    rule: type[Advice], name: str, fires: int, not_at: int
):
    assert rule in rules_of(judged(name, fires))
    assert rule not in rules_of(judged(name, not_at))


def constructed(
    *, keep: Measured | None = None, session: Session | None = None, time_s: float = 2e-3
) -> tuple[Session, Point, Measured]:
    """Softmax in CUDA, far below the DRAM roof."""
    session = session or make_session()
    point = next(p for p in session.points if p.measured and p.implementation.key == "softmax/cuda_warp")
    assert point.measured is not None
    made = keep or replace(
        point.measured,
        time=TimeStats(time_s, time_s * 0.99, time_s * 1.01, (time_s,) * 8, 5),
        hot=None,
        kernels=(ProfiledKernel("softmax", 1.0, time_s),),
        host_s=10e-6,
    )
    return session, point, made


def judge(session: Session, point: Point, outcome: Measured) -> Judged:
    changed = replace(point, outcome=outcome)
    session.points = tuple(changed if p.number == point.number else p for p in session.points)
    case = Cases(session).of(changed)
    assert case is not None
    return advise(case)


def test_doubles_that_the_compiler_counted_need_no_source():
    session, point, made = constructed()
    few = replace(made, build=BuildInfo(0.1, double_instructions=1))
    assert Doubles not in rules_of(judge(session, point, few))
    found = judge(session, point, replace(made, build=BuildInfo(0.1, double_instructions=18)))
    assert isinstance(found.limiter, Doubles)
    assert found.limiter.instructions == 18
    assert found.limiter.floats_a_double == 2  # of an H200


def test_code_that_counted_no_double_is_not_suspected_for_its_text():
    session, found = cases("h200-gelu")
    case = found.of(next(point for point in session.points if point.number == 6))
    assert case is not None
    counted = replace(case.measured, build=replace(case.measured.build, double_instructions=0))
    assert Doubles not in rules_of(advise(replace(case, measured=counted)))


def test_a_temporary_tensor_costs_a_write_and_a_read():
    session, point, made = constructed()
    work = point.job.work
    used = replace(made, memory=MemoryUse(peak_bytes=2 * work.write_bytes, output_bytes=work.write_bytes))
    found = next(each for each in judge(session, point, used).all if isinstance(each, ExtraBytes))
    assert found.temporary_bytes == work.write_bytes
    assert found.saves_s == pytest.approx(2 * work.write_bytes / 4277e9)
    none = replace(made, memory=MemoryUse(peak_bytes=work.write_bytes, output_bytes=work.write_bytes))
    assert ExtraBytes not in rules_of(judge(session, point, none))
    assert ExtraBytes not in rules_of(judge(session, point, made))  # not recorded


def test_few_warps_are_named_under_a_memorys_roof_only():
    session, point, made = constructed()

    def held(occupancy: float | None, registers: int | None = None) -> Measured:
        launch = Launch(4096, 256, registers, 0, occupancy)
        return replace(made, kernels=(ProfiledKernel("softmax", 1.0, made.time.median_s, launch),))

    assert Occupancy in rules_of(judge(session, point, held(0.125)))
    assert Occupancy not in rules_of(judge(session, point, held(0.5)))
    found = judge(session, point, held(None, 255)).all
    by_registers = next(each for each in found if isinstance(each, Occupancy))
    assert by_registers.is_bound
    assert by_registers.occupancy == 256 / 2048  # 65536 / 255, in whole warps
    assert Occupancy not in rules_of(judge(session, point, held(None, 64)))
    near = replace(held(0.125), time=replace(made.time, median_s=270e-6))
    assert Occupancy not in rules_of(judge(session, point, near))


def test_a_last_wave_costs_its_idle_share():
    session, point, made = constructed()
    launch = Launch(140, 1024, 32, 0, 0.5)
    waves = replace(made, kernels=(ProfiledKernel("softmax", 1.0, made.time.median_s, launch),))
    found = judge(session, point, waves)
    assert isinstance(found.limiter, PartialWaves)
    assert found.limiter.saves_s == pytest.approx((1 - 140 / 264) * 2e-3)
    many = replace(made, kernels=(replace(waves.kernels[0], launch=replace(launch, blocks=264 * 40)),))
    assert PartialWaves not in rules_of(judge(session, point, many))


def test_a_grid_that_leaves_multiprocessors_empty_is_too_small():
    session, point, made = constructed(time_s=10e-6)
    launch = Launch(16, 256, 32, 0, 0.5)
    assert DEVICE.multiprocessor_count == 132
    small = replace(made, kernels=(ProfiledKernel("softmax", 1.0, 10e-6, launch),))
    slow = replace(small, time=replace(made.time, median_s=1e-3))
    work = replace(point.job.work, flop_count=10**6, read_bytes=10**6, write_bytes=10**6)
    tiny = replace(point, job=replace(point.job, work=work))
    found = next(each for each in judge(session, tiny, small).all if isinstance(each, TooSmall))
    assert (found.blocks, found.multiprocessors) == (16, 132)
    assert TooSmall not in rules_of(judge(session, tiny, slow))


def test_gaps_are_worth_the_time_between_kernels():
    session, point, made = constructed()
    gappy = replace(made, kernels=tuple(ProfiledKernel(name, 1.0, 0.5e-3) for name in "abc"))
    found = judge(session, point, gappy)
    assert isinstance(found.limiter, Gaps)
    assert found.limiter.saves_s == pytest.approx(0.5e-3)
    dense = replace(made, kernels=tuple(ProfiledKernel(name, 1.0, 2e-3 / 3) for name in "abc"))
    assert Gaps not in rules_of(judge(session, point, dense))


def test_a_clock_held_by_heat_is_no_power_cap():
    session, point, made = constructed()
    hot = Evidence(
        clock_hz=1500e6,
        fresh_hz=1980e6,
        event_reasons=("thermal slowdown (software)",),
        held_by=("thermal slowdown (software)",),
    )
    found = rules_of(judge(session, point, replace(made, evidence=hot)))
    assert Throttled in found
    assert PowerCap not in found
    fresh = Evidence(clock_hz=1980e6, fresh_hz=1980e6)
    assert Throttled not in rules_of(judge(session, point, replace(made, evidence=fresh)))


def test_a_held_clock_does_not_limit_what_memory_limits():
    session = load(ASSETS / "sessions" / "h200.roofscope")  # of its own, because it is changed
    points = (point for point in session.points if point.measured)
    point = next(one for one in points if verdict(one, session).kind is VerdictKind.MEMORY_BOUND)
    assert point.measured is not None
    held = Evidence(clock_hz=1600e6, fresh_hz=1980e6, event_reasons=("power cap",), held_by=("power cap",))
    said = judge(session, point, replace(point.measured, evidence=held))
    assert not isinstance(said.limiter, PowerCap | Throttled)


def test_the_special_functions_bind_a_kernel_that_is_near_their_roof():
    session = make_session(ceilings=(ceiling(Bound.DRAM, 4e12), ceiling(Bound.SPECIAL, 4e12)))
    session.specs["softmax"] = replace(session.specs["softmax"], pipe=Pipe.SPECIAL)
    _, point, made = constructed(session=session)
    flops = replace(point.job.work, flop_count=8 * 10**9)
    special = replace(point, job=replace(point.job, work=flops))
    near = replace(made, time=replace(made.time, median_s=2.1e-3, low_s=2.09e-3, high_s=2.11e-3))
    assert isinstance(judge(session, special, near).limiter, SpecialFunctions)
    far = replace(made, time=replace(made.time, median_s=9e-3))
    assert SpecialFunctions not in rules_of(judge(session, special, far))


def test_above_the_roof_is_said_before_anything_else():
    session, point, made = constructed(time_s=100e-6)
    found = judge(session, point, made)
    assert isinstance(found.limiter, AboveRoof)
    assert AtRoof not in rules_of(found)
    assert AboveRoof not in rules_of(judge(*constructed()))


def test_data_that_the_cache_holds_says_nothing_of_memory():
    session, point, made = constructed(time_s=3e-6)
    work = replace(point.job.work, flop_count=10**6, read_bytes=4 << 20, write_bytes=4 << 20)
    small = replace(point, job=replace(point.job, work=work))
    assert session.device is not None
    device = replace(session.device, last_level_cache_bytes=50 << 20)
    session.device = device
    kept = replace(made, rotated_bytes=8 << 20)
    found = judge(session, small, kept)
    assert isinstance(found.limiter, CacheResident)
    assert found.limiter.least_bytes == 150 << 20
    assert CacheResident not in rules_of(judge(session, small, replace(made, rotated_bytes=400 << 20)))


def test_no_rule_contradicts_the_verdict_of_a_recorded_point():
    """What the table calls launch-bound, the details do not call double arithmetic, and so on."""
    pairs = {
        VerdictKind.LAUNCH_BOUND: LaunchBound,
        VerdictKind.SEVERAL_KERNELS: SeveralKernels,
        VerdictKind.SPILLS: Spills,
        VerdictKind.LAUNCH_LATENCY: LaunchLatency,
    }
    seen: set[VerdictKind] = set()
    for name in ("h200", "h200-tour", "h200-gelu"):
        session, found = cases(name)
        for point in session.points:
            kind = verdict(point, session).kind
            case = found.of(point)
            if case is None or kind not in pairs:
                continue
            seen.add(kind)
            limiter = advise(case).limiter
            assert isinstance(limiter, pairs[kind]), (name, point.number, kind)
    assert seen == set(pairs)


def test_what_saves_most_comes_first():
    for name in ("h200", "h200-tour"):
        session, found = cases(name)
        for point in session.points:
            case = found.of(point)
            if case:
                saved = [each.saves_s or 0.0 for each in advise(case).others]
                assert saved == sorted(saved, reverse=True)


def test_flags_of_power_need_a_lower_clock():
    session, found = cases("h200")
    case = found.of(next(point for point in session.points if point.number == 221))
    assert case is not None
    assert Flag.POWER_CAPPED in case.verdict.flags
    evidence = replace(case.measured.evidence, clock_hz=1975e6)
    quick = replace(case, measured=replace(case.measured, evidence=evidence))
    assert PowerCap not in rules_of(advise(quick))


def test_a_time_that_other_work_may_have_taken_proves_no_way_of_reading():
    session, point, made = constructed()
    assert isinstance(judge(session, point, made).limiter, Access)
    for flag in (Flag.UNSTABLE, Flag.PREEMPTED):
        assert Access not in rules_of(judge(session, point, replace(made, flags=(flag,))))


def test_a_wide_interval_far_from_the_roof_is_no_nearness():
    """Of 24 to 240 us half the interval exceeds the time, which made 0.4 % of the roof "as near as known"."""
    session, point, made = constructed()
    wide = replace(made.time, low_s=made.time.median_s / 3, high_s=made.time.median_s * 3)
    changed = replace(made, time=wide)
    assert AtRoof not in rules_of(judge(session, point, changed))
    assert (verdict(replace(point, outcome=changed), session).fraction_of_roof or 1) < 0.6


def test_only_what_is_known_to_five_per_cent_may_be_at_its_roof():
    session, point, made = constructed()
    least_s = verdict(replace(point, outcome=made), session).least_time_s
    assert least_s
    near_s = least_s / 0.94
    for half, is_near in ((0.001, False), (0.045, True), (0.3, False)):
        time = TimeStats(near_s, near_s * (1 - half), near_s * (1 + half), (near_s,) * 8, 5)
        assert (AtRoof in rules_of(judge(session, point, replace(made, time=time)))) == is_near


def test_no_advice_rests_on_a_ratio_that_spans_a_factor_of_two():
    session, point, made = constructed(time_s=2e-4)
    eager = next(
        p for p in session.points if p.job == point.job and p.implementation.provider is Provider.EAGER
    )
    assert eager.measured

    def rules(low: float, high: float) -> set[type[Advice]]:
        time = replace(made.time, low_s=2e-2 * low, high_s=2e-2 * high, median_s=2e-2, samples_s=(2e-2,) * 8)
        return rules_of(judge(session, point, replace(made, time=time)))

    assert FasterSibling in rules(0.95, 1.05)
    assert not {FasterSibling, StayWithEager} & rules(0.3, 3.0)
