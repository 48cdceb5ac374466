"""Which point is the baseline, how much faster another is, and when a compilation has paid for itself."""

import math
import random
from statistics import median

import msgspec
import pytest

from roofscope.app.presentation.comparison import speed_up_origin, speed_up_short_text, speed_up_text
from roofscope.app.presentation.formatting import MISSING, break_even_text
from roofscope.app.presentation.payback import payback_text
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.comparison import (
    Baselines,
    BreakEven,
    Payback,
    baseline_of,
    compare,
    speed_up,
)
from roofscope.profiling.analysis.statistics import median_interval
from roofscope.profiling.analysis.verdict import own_flags
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Distribution, Dtype, Implementation, Provider
from roofscope.profiling.results.outcome import BuildInfo, Evidence, Flag, Method, TimeStats
from roofscope.profiling.results.session import Point
from roofscope.tests.sessions import RECORDED_AT, job, measured

HEAT, POWER = "thermal slowdown (software)", "power cap"
JOB = job("softmax", Dtype.FLOAT32, "large", "job-1")


def point(provider: Provider, median_s: float, compile_s: float = 0.0, job_id: str = "job-1") -> Point:
    outcome = msgspec.structs.replace(measured(median_s), build=BuildInfo(compile_s))
    a_job = msgspec.structs.replace(JOB, id=job_id)
    return Point(1, a_job, Implementation("softmax", provider, "", "hash"), outcome, RECORDED_AT)


EAGER = point(Provider.EAGER, 3e-3)


def test_a_compilation_pays_by_what_each_call_saves() -> None:
    faster, slower = point(Provider.COMPILE, 1e-3, 10.0), point(Provider.COMPILE, 3.2e-3, 10.0)
    found = BreakEven([EAGER, faster, slower])
    assert found.calls(faster) == Payback(5000, 5000)
    assert found.calls(slower) == Payback(math.inf, math.inf)
    assert found.calls(EAGER) == Payback()


def test_a_compilation_may_pay_inside_a_graph_and_never_by_wall_time() -> None:
    eager = with_host(point(Provider.EAGER, 11.1e-6), 11.1e-6)
    compiled = with_host(point(Provider.COMPILE, 6.3e-6, 0.4), 38.7e-6)
    found = BreakEven([eager, compiled]).calls(compiled)
    assert found == Payback(by_wall=math.inf, in_graph=pytest.approx(83334))
    assert payback_text(found) == "by wall time never; inside a CUDA graph 83\u00a0334 calls"


def test_wall_times_that_hardly_differ_save_nothing_that_is_known() -> None:
    eager = with_host(point(Provider.EAGER, 5e-6), 20e-6)
    compiled = with_host(point(Provider.COMPILE, 2e-6, 0.3), 19.5e-6)
    assert BreakEven([eager, compiled]).calls(compiled) == Payback(by_wall=None, in_graph=1e5)
    unknown = msgspec.structs.replace(
        compiled, outcome=msgspec.structs.replace(compiled.measured, host_s=None)
    )
    assert BreakEven([eager, unknown]).calls(unknown).by_wall is None


def test_what_no_graph_captures_never_pays_inside_one() -> None:
    eager = point(Provider.EAGER, 3e-3)
    queued = by_method(point(Provider.COMPILE, 1e-3, 10.0), Method.QUEUE)
    assert BreakEven([eager, queued]).calls(queued) == Payback(by_wall=5000, in_graph=None)


def with_host(one: Point, host_s: float) -> Point:
    assert one.measured
    return msgspec.structs.replace(one, outcome=msgspec.structs.replace(one.measured, host_s=host_s))


def by_method(one: Point, method: Method) -> Point:
    assert one.measured
    return msgspec.structs.replace(one, outcome=msgspec.structs.replace(one.measured, method=method))


def test_a_ratio_across_methods_says_so() -> None:
    graph = msgspec.structs.replace(point(Provider.CUDA, 1e-3), number=2)
    alike = speed_up(graph, EAGER)
    events = speed_up(by_method(graph, Method.EVENTS), EAGER)
    assert alike
    assert events
    assert alike.methods is None
    assert events.methods == (Method.CUDA_GRAPH, Method.EVENTS)
    assert "†" not in speed_up_short_text(alike)
    assert speed_up_short_text(events) == f"{speed_up_short_text(alike)} †"
    assert speed_up_text(events).count("by different methods") == 1
    assert "the baseline by cuda graph, this one by events" in speed_up_origin(events)
    assert "host's time inside" in speed_up_origin(events)


def test_a_time_with_the_hosts_inside_is_flagged() -> None:
    assert EAGER.measured
    assert Flag.HOST_TIME_INSIDE not in own_flags(EAGER.measured)
    events = by_method(EAGER, Method.EVENTS).measured
    assert events
    assert own_flags(events) & WARNING_FLAGS == {Flag.HOST_TIME_INSIDE}


@pytest.mark.parametrize(
    ("evidence", "flags"),
    [
        (Evidence(clock_hz=1900e6, fresh_hz=1980e6), {Flag.CLOCK_SAGGED}),
        (Evidence(clock_hz=1900e6, fresh_hz=1980e6, event_reasons=None), {Flag.CLOCK_SAGGED}),
        (Evidence(clock_hz=1960e6, fresh_hz=1980e6), set()),  # one step
        (Evidence(clock_hz=1900e6, fresh_hz=1980e6, held_by=(HEAT,)), {Flag.HEAT_LIMITED}),
        (
            Evidence(clock_hz=1900e6, fresh_hz=1980e6, event_reasons=(POWER,), held_by=(POWER,)),
            {Flag.POWER_CAPPED},
        ),
    ],
)
def test_a_clock_that_is_lower_has_a_name_or_is_told_to_have_none(
    evidence: Evidence, flags: set[Flag]
) -> None:
    assert EAGER.measured
    assert own_flags(msgspec.structs.replace(EAGER.measured, evidence=evidence)) == flags


def in_rounds(number: int, samples_s: list[float], provider: Provider = Provider.CUDA) -> Point:
    time = TimeStats(median(samples_s), None, None, tuple(samples_s), 8, tuple(range(len(samples_s))))
    outcome = msgspec.structs.replace(measured(1e-3), time=time)
    implementation = Implementation("softmax", provider, f"v{number}", "hash")
    return Point(number, JOB, implementation, outcome, RECORDED_AT)


def timed(samples_s: list[float]) -> TimeStats:
    bounds = median_interval(samples_s)
    rounds = tuple(range(len(samples_s)))
    return TimeStats(bounds.median, bounds.low, bounds.high, tuple(samples_s), 8, rounds)


def beside_other_work(rng: random.Random) -> tuple[TimeStats, TimeStats]:
    """A calm one that stops after 30 rounds, and one whose later blocks run on an idle machine."""
    calm = [2e-6 * math.exp(rng.gauss(0, 0.01)) for _ in range(30)]
    levels = [1.8e-4] * 30 + [6e-5] * 60
    loud = [level * math.exp(rng.gauss(0, 0.4)) for level in levels]
    return timed(calm), timed(loud)


def test_a_ratio_is_that_of_the_times_beside_it_whatever_the_rounds_say() -> None:
    rng = random.Random(1)
    for _ in range(20):
        calm, loud = beside_other_work(rng)
        found, rounds = compare(loud, calm, in_turn=True)
        in_rounds_alone = median(a / b for a, b in zip(loud.samples_s, calm.samples_s, strict=False))
        assert rounds == 30
        assert found.ratio == pytest.approx(loud.median_s / calm.median_s)
        assert in_rounds_alone > 1.5 * found.ratio  # which was said beside these medians
        assert found.low < found.ratio < in_rounds_alone < found.high  # both may be true


def test_where_rounds_and_medians_agree_the_rounds_give_the_interval() -> None:
    """A drift common to both: each time is known to 5 %, and their ratio to a fraction of one."""
    rng = random.Random(2)
    drift = [0.1 * i / 60 for i in range(60)]
    one, other = (timed([1e-5 * math.exp(at + rng.gauss(0, 0.002)) for at in drift]) for _ in range(2))
    found, _ = compare(one, other, in_turn=True)
    apart, _ = compare(one, other, in_turn=False)
    assert found.ratio == pytest.approx(apart.ratio, rel=0.001)
    assert apart.ratio == one.median_s / other.median_s
    assert found.relative_half_width < 0.01
    assert apart.relative_half_width > 0.05


def test_what_spans_a_factor_of_two_is_shown_by_its_ends() -> None:
    calm, loud = beside_other_work(random.Random(3))
    slow, fast = (
        Point(
            number, JOB, EAGER.implementation, msgspec.structs.replace(measured(1.0), time=time), RECORDED_AT
        )
        for number, time in ((2, loud), (1, calm))
    )
    found = speed_up(slow, fast)
    assert found
    assert found.is_wide
    text = speed_up_short_text(found)
    assert text.endswith("× slower")
    assert " to " in text
    assert "±" not in text


def test_ten_equals_share_their_five_per_cent() -> None:
    """Each with the fastest of them, which is fast by luck."""
    rng = random.Random(4)
    alarms = {"together": 0, "each by itself": 0}
    for _ in range(200):
        points = [in_rounds(n, [math.exp(rng.gauss(0, 0.004)) for _ in range(31)]) for n in range(10)]
        baselines = Baselines(points, Provider.CUDA)
        found = [baselines.speed_up(one) for one in points]
        alone = [speed_up(one, baselines.of(one)) for one in points]
        assert {one.comparisons for one in found if one and not one.is_baseline} == {45}
        for name, ups in (("together", found), ("each by itself", alone)):
            alarms[name] += any(up and not up.is_baseline and up.distinguishable for up in ups)
    assert alarms["together"] <= 10 < alarms["each by itself"]


def test_a_reader_of_a_job_makes_a_comparison_for_each_other_implementation() -> None:
    eager, *others = [in_rounds(n, [1.0] * 5, Provider.CUDA if n else Provider.EAGER) for n in range(4)]
    points = [eager, *others]
    assert Baselines(points).speed_up(others[0]).comparisons == 3
    assert Baselines(points, Provider.CUDA).speed_up(eager).comparisons == 6  # chosen from three
    assert Baselines(points, Provider.CUDA, pinned=2).speed_up(eager).comparisons == 3


def test_a_ratio_of_few_rounds_has_no_interval() -> None:
    found = speed_up(in_rounds(2, [1.0] * 4), in_rounds(1, [2.0] * 4))
    assert found
    assert (found.ratio, found.low, found.high) == (2.0, 0.0, math.inf)
    assert not found.distinguishable
    assert speed_up_text(found) == "2.00×, its interval not known: too few blocks"
    assert speed_up_short_text(found) == "2.00× ± not known"


def test_what_is_not_distinguishable_from_eager_saves_nothing_that_is_known() -> None:
    alike = point(Provider.COMPILE, 2.999e-3, 10.0)
    assert BreakEven([EAGER, alike]).calls(alike) == Payback()


def test_only_rivals_of_one_job_are_compared() -> None:
    elsewhere = point(Provider.COMPILE, 1e-3, 10.0, "job-2")
    assert BreakEven([EAGER, elsewhere]).calls(elsewhere) == Payback()


def test_it_reads_as_words() -> None:
    texts = [break_even_text(calls) for calls in (5000.0, 1.0, math.inf, None)]
    assert texts == ["5\u00a0000 calls", "1 call", "never", MISSING]


def test_the_baseline_is_found_among_the_points_of_one_workload_fill_and_regime() -> None:
    sustained = msgspec.structs.replace(JOB, id="job-3", regime=Regime.SUSTAINED)
    elsewhere = msgspec.structs.replace(point(Provider.EAGER, 1e-3), number=4, job=sustained)
    slower = msgspec.structs.replace(point(Provider.EAGER, 4e-3), number=2)
    cuda = msgspec.structs.replace(point(Provider.CUDA, 1e-3), number=3)
    normal = msgspec.structs.replace(JOB.workload, fill=Distribution.NORMAL)
    drawn = msgspec.structs.replace(JOB, id="job-4", workload=normal)
    otherwise = msgspec.structs.replace(point(Provider.EAGER, 1e-3), number=5, job=drawn)
    points = [EAGER, slower, cuda, elsewhere, otherwise]
    assert baseline_of(cuda, points) is EAGER
    assert baseline_of(otherwise, points) is otherwise
    assert baseline_of(cuda, points, pinned=2) is slower
    assert baseline_of(cuda, points, provider=Provider.TRITON) is None
    assert baseline_of(elsewhere, points) is elsewhere


def test_a_speed_up_is_the_baselines_time_over_the_points() -> None:
    cuda = msgspec.structs.replace(point(Provider.CUDA, 1e-3), number=2)
    found = speed_up(cuda, EAGER)
    assert found is not None
    assert found.ratio == pytest.approx(3.0)
    assert found.low < 3.0 < found.high
    assert found.baseline is EAGER
    itself = speed_up(EAGER, EAGER)
    assert itself is not None
    assert itself.is_baseline
    assert speed_up(cuda, None) is None


@pytest.mark.parametrize("bounds_s", [(0.0, 1.0), (1e-6, 0.0), (5e-324, 1.0)])
def test_bounds_that_no_run_gives_make_the_ratio_unknown(bounds_s: tuple[float, float]) -> None:
    """A file may hold them: 0, or so small that their share of the median is 0."""
    odd = TimeStats(1e6, *bounds_s, (1e6,) * 5, 1)
    other = TimeStats(1.0, 0.9, 1.1, (1.0,) * 5, 1)
    comparison, rounds = compare(odd, other, in_turn=False)
    assert (comparison.low, comparison.high, rounds) == (0.0, math.inf, 0)


def test_a_users_function_in_pytorch_is_compared_with_eager_and_is_not_the_baseline() -> None:
    own = msgspec.structs.replace(
        point(Provider.EAGER, 1e-3),
        number=2,
        implementation=Implementation("softmax", Provider.EAGER, "mine", "other"),
    )
    compiled = point(Provider.COMPILE, 1e-3, compile_s=1.0)
    for points in ([EAGER, own, compiled], [own, EAGER, compiled]):
        assert baseline_of(own, points) is EAGER
        assert BreakEven(points).calls(compiled) == BreakEven([EAGER, compiled]).calls(compiled)
    assert baseline_of(own, [own]) is own
