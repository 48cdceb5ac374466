"""What limits a point, and the sentence that says so."""

import msgspec
import pytest

from roofscope.app.presentation.verdict_text import distance_text, verdict_sentence
from roofscope.profiling.analysis.verdict import VerdictKind, flags_of, limiting_roof, own_flags, verdict
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.planning.spec import Dtype, Multiply
from roofscope.profiling.results.outcome import Flag, Meanwhile, Measured, Method, Outcome, ProfiledKernel
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Bound
from roofscope.tests import sessions

# One gelu call at n = 2**27 float32 moves 2**30 bytes; half of them read, so its roof is the copy's.
COPY_S = 2**30 / 4277e9


def point_of(
    outcome: Outcome, kernel: str = "gelu", dtype: Dtype = Dtype.FLOAT32, preset: str = "large"
) -> Point:
    job = sessions.job(kernel, dtype, preset, "job-1")
    return Point(1, job, job.implementations[0], outcome, sessions.RECORDED_AT)


def session_with(point: Point, **device: object) -> Session:
    session = sessions.empty_session(ceilings=sessions.CEILINGS)
    session.points = (point,)
    session.device = msgspec.structs.replace(sessions.DEVICE, **device)
    return session


def test_memory_bound_point_is_judged_against_its_own_access_mix() -> None:
    point = point_of(sessions.measured(COPY_S / 0.91))
    judged = verdict(point, session_with(point))
    assert judged.kind is VerdictKind.MEMORY_BOUND
    assert judged.limiter is not None
    assert judged.limiter.mix == "copy"
    assert judged.fraction_of_roof == pytest.approx(0.91)
    assert judged.headroom_s == pytest.approx(COPY_S / 0.91 - COPY_S)
    assert judged.speedup_left == pytest.approx(1 / 0.91)
    assert (
        verdict_sentence(point, judged)
        == "Memory-bound: 91 % of the DRAM copy ceiling; the 9.0 % left is worth 24.8 µs a call."
    )


def test_matmul_is_judged_against_the_pipe_of_its_dtype() -> None:
    least_s = 2 * 8192**3 / 796e12
    point = point_of(sessions.measured(least_s / 0.4), "matmul", Dtype.BFLOAT16)
    judged = verdict(point, session_with(point))
    assert judged.kind is VerdictKind.UNKNOWN
    assert judged.least_time_s == pytest.approx(least_s)
    assert verdict_sentence(point, judged).startswith("On no roof: 40 % of the BF16 ceiling; 2.50× is left")
    near = point_of(sessions.measured(least_s / 0.61), "matmul", Dtype.BFLOAT16)
    assert verdict(near, session_with(near)).kind is VerdictKind.COMPUTE_BOUND


def test_an_implementation_may_multiply_something_else() -> None:
    """float32 by three products in TF32 is faster than IEEE float32, and not above its own roof."""
    point = point_of(sessions.measured(1e-3), "matmul", Dtype.FLOAT32)
    session = session_with(point)
    assert session.bound_of(point) is Bound.FP32
    spec = sessions.SPEC_OF["matmul"]
    otherwise = {point.implementation.stem: Multiply.TF32}
    session.specs["matmul"] = msgspec.structs.replace(spec, multiplies_otherwise=otherwise)
    assert session.bound_of(point) is Bound.TF32


@pytest.mark.parametrize(("fraction", "kind"), [(0.601, "memory-bound"), (0.599, "on no roof")])
def test_a_roof_is_named_from_three_fifths_of_it_on(fraction: float, kind: str) -> None:
    point = point_of(sessions.measured(COPY_S / fraction))
    assert verdict(point, session_with(point)).kind == kind


def test_a_point_above_its_roof_is_flagged_and_not_clamped() -> None:
    point = point_of(sessions.measured(COPY_S / 1.3))
    judged = verdict(point, session_with(point))
    assert judged.kind is VerdictKind.ABOVE_ROOF
    assert judged.fraction_of_roof == pytest.approx(1.3)
    assert judged.headroom_s == 0
    assert judged.flags == (Flag.ABOVE_ROOF,)
    assert "130 %" in verdict_sentence(point, judged)


@pytest.mark.parametrize(
    ("fraction", "half_width", "told"),
    [
        (0.5, 0.001, "2.00× to DRAM copy"),
        (1.018, 0.001, "on the roof (102 %, ceilings are known to 2 %)"),
        (1.03, 0.03, "on the roof (103 %, within the interval of its time)"),
        (1.03, 0.001, "above DRAM copy, 1.06× to DRAM write"),
        (1.2, 0.001, "above DRAM copy"),
    ],
)
def test_a_reading_that_the_errors_explain_is_on_its_roof(
    fraction: float, half_width: float, told: str
) -> None:
    point = point_of(sessions.measured(COPY_S / fraction, half_width=half_width))
    assert distance_text(verdict(point, session_with(point))) == told


@pytest.mark.parametrize(
    ("fraction", "half_width", "above"),
    [(1.015, 0.001, False), (1.03, 0.001, False), (1.2, 0.001, True), (1.2, 0.2, False)],
)
def test_a_reading_within_the_errors_is_on_the_roof(fraction: float, half_width: float, above: bool) -> None:
    point = point_of(sessions.measured(COPY_S / fraction, half_width=half_width))
    assert (Flag.ABOVE_ROOF in flags_of(point, session_with(point))) is above


def test_more_than_the_ceiling_of_its_mix_is_not_above_the_roof_which_is_the_envelope() -> None:
    point = point_of(sessions.measured(COPY_S / 1.05))
    judged = verdict(point, session_with(point))
    assert judged.kind is VerdictKind.MEMORY_BOUND
    assert judged.fraction_of_roof == pytest.approx(1.05)
    assert judged.envelope is not None
    assert judged.envelope.ceiling.mix == "write"
    assert verdict_sentence(point, judged) == (
        "Memory-bound: 105 % of the DRAM copy ceiling, which reads and writes at once; "
        "reading first and writing then may pass it. 96 % of the DRAM write ceiling."
    )


def test_launch_bound_needs_half_as_much_again_on_the_host() -> None:
    slow = point_of(sessions.measured(6e-6, host_s=9.2e-6), preset="small")
    fast = point_of(sessions.measured(6e-6, host_s=8.8e-6), preset="small")
    assert verdict(fast, session_with(fast)).kind is not VerdictKind.LAUNCH_BOUND
    judged = verdict(slow, session_with(slow))
    assert judged.kind is VerdictKind.LAUNCH_BOUND
    assert judged.launch_s == pytest.approx(3.2e-6)
    assert verdict_sentence(slow, judged).startswith("Launch-bound: a caller waits 3.2 µs longer")


def test_near_a_roof_that_roof_is_named_and_the_launch_is_told() -> None:
    near = point_of(sessions.measured(3e-6, host_s=4.6e-6), preset="small")
    judged = verdict(near, session_with(near))
    assert judged.kind is VerdictKind.MEMORY_BOUND
    assert Flag.LAUNCH_BOUND in judged.flags
    assert verdict_sentence(near, judged).endswith(
        "Launch-bound, too: a caller waits 1.6 µs longer than the device works."
    )


@pytest.mark.parametrize(
    ("kernel_s", "calls", "profiled_s", "clock", "flagged"),
    [
        (315e-6, 1.0, 316e-6, 1.0, False),
        (343e-6, 1.0, None, None, True),  # 9 % more than the headline
        (343e-6, 1.0, 345e-6, 1.0, False),  # the profiler slows it, as the headline's own method saw
        (343e-6, 1.0, 360e-6, 1.0, False),  # and leaves gaps, which are in no kernel's time
        (343e-6, 1.0, 325e-6, 1.0, True),
        (294e-6, 1.0, 330e-6, 1.07, False),  # the same cycles at a higher clock, and gaps
        (294e-6, 1.0, 330e-6, 1.0, True),
        (200e-6, 1.0, 316e-6, 1.0, True),
        (200e-6, 3.0, 316e-6, 1.0, False),  # gaps between several kernels
        (343e-6, 3.0, 316e-6, 1.0, True),  # more work than time: some of it was not timed
    ],
)
def test_the_profiler_has_a_say(
    kernel_s: float, calls: float, profiled_s: float | None, clock: float | None, flagged: bool
) -> None:
    outcome = msgspec.structs.replace(
        sessions.measured(315e-6),
        kernels=(ProfiledKernel("gelu", calls, kernel_s),),
        profiled=Meanwhile(profiled_s, clock) if profiled_s else None,
    )
    point = point_of(outcome)
    assert (Flag.PROFILER_DISAGREES in flags_of(point, session_with(point))) is flagged


def test_the_hosts_time_is_no_kernels() -> None:
    """Calls that wait for the device are timed with the host's time inside, on which kernels say nothing."""
    short, long = (
        msgspec.structs.replace(
            sessions.measured(75e-6), method=Method.EVENTS, kernels=(ProfiledKernel("gelu", 1.0, kernel_s),)
        )
        for kernel_s in (56e-6, 99e-6)
    )
    assert own_flags(short) == {Flag.HOST_TIME_INSIDE}
    assert own_flags(long) == {Flag.HOST_TIME_INSIDE, Flag.PROFILER_DISAGREES}


def test_a_cpu_point_inside_the_cache_says_so() -> None:
    small = point_of(sessions.measured(1e-3, host_s=1e-3), preset="small")  # 8 MiB
    on_cpu = session_with(small, kind=DeviceKind.CPU, last_level_cache_bytes=32 * 1024**2)
    assert verdict(small, on_cpu).kind is VerdictKind.CACHE_RESIDENT
    assert "last-level cache" in verdict_sentence(small, verdict(small, on_cpu))
    assert distance_text(verdict(small, on_cpu)) == "cache-resident"
    tiny_cache = session_with(small, kind=DeviceKind.CPU, last_level_cache_bytes=2**20)
    assert verdict(small, tiny_cache).kind is VerdictKind.UNKNOWN
    assert flags_of(small, session_with(small)) == ()  # a GPU is timed cold


@pytest.mark.parametrize(("sets", "is_cached"), [(3, True), (4, True), (5, False), (13, False)])
def test_the_bytes_rotated_through_decide_whether_a_cpu_point_stayed_in_the_cache(
    sets: int, is_cached: bool
) -> None:
    """One call's 8 MiB fit 32 MiB; thirteen sets of them were read from DRAM."""
    outcome = sessions.measured(1e-3, host_s=1e-3)
    outcome = msgspec.structs.replace(outcome, rotated_bytes=sets * 8 * 2**20)
    small = point_of(outcome, preset="small")
    on_cpu = session_with(small, kind=DeviceKind.CPU, last_level_cache_bytes=32 * 2**20)
    assert (verdict(small, on_cpu).kind is VerdictKind.CACHE_RESIDENT) is is_cached
    assert (Flag.CACHE_RESIDENT in flags_of(small, on_cpu)) is is_cached


def test_without_ceilings_nothing_is_claimed() -> None:
    point = point_of(sessions.measured(1e-3))
    session = session_with(point)
    session.ceilings = ()
    judged = verdict(point, session)
    assert (judged.kind, judged.limiter, judged.fraction_of_roof) == (VerdictKind.NO_CEILING, None, None)
    assert "No ceiling" in verdict_sentence(point, judged)


def test_a_session_that_lost_its_spec_still_answers() -> None:
    point = point_of(sessions.measured(1e-3))
    session = session_with(point)
    session.specs = {}
    assert limiting_roof(point, session) is None
    assert verdict(point, session).kind is VerdictKind.NO_CEILING


def test_points_without_a_time_have_a_sentence_with_their_reason() -> None:
    session = sessions.make_session(full=True)
    kinds = {VerdictKind.FAILED: "Failed", VerdictKind.SKIPPED: "Not run", VerdictKind.CANCELLED: "Cancelled"}
    seen: set[VerdictKind] = set()
    for point in session.points:
        if isinstance(point.outcome, Measured):
            continue
        judged = verdict(point, session)
        seen.add(judged.kind)
        sentence = verdict_sentence(point, judged)
        assert sentence.startswith(kinds[judged.kind])
        assert point.outcome.message in sentence
    assert seen == set(kinds)
