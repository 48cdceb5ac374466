"""Which point is the baseline, how much faster another is, and when a compilation has paid for itself."""

import math

import msgspec
import pytest

from roofscope.app.presentation.formatting import MISSING, break_even_text
from roofscope.profiling.analysis.comparison import BreakEven, baseline_of, speed_up
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.results.session import Point
from roofscope.tests.sessions import RECORDED_AT, job, measured

JOB = job("softmax", Dtype.FLOAT32, "large", "job-1")


def point(provider: Provider, median_s: float, compile_s: float = 0.0, job_id: str = "job-1") -> Point:
    outcome = msgspec.structs.replace(measured(median_s), build=BuildInfo(compile_s))
    a_job = msgspec.structs.replace(JOB, id=job_id)
    return Point(1, a_job, Implementation("softmax", provider, "", "hash"), outcome, RECORDED_AT)


EAGER = point(Provider.EAGER, 3e-3)


def test_a_compilation_pays_by_what_each_call_saves() -> None:
    faster, slower = point(Provider.COMPILE, 1e-3, 10.0), point(Provider.COMPILE, 3.2e-3, 10.0)
    found = BreakEven([EAGER, faster, slower])
    assert found.calls(faster) == 5000
    assert found.calls(slower) == math.inf
    assert found.calls(EAGER) is None


def test_what_is_not_distinguishable_from_eager_saves_nothing_that_is_known() -> None:
    alike = point(Provider.COMPILE, 2.999e-3, 10.0)
    assert BreakEven([EAGER, alike]).calls(alike) is None


def test_only_rivals_of_one_job_are_compared() -> None:
    elsewhere = point(Provider.COMPILE, 1e-3, 10.0, "job-2")
    assert BreakEven([EAGER, elsewhere]).calls(elsewhere) is None


def test_it_reads_as_words() -> None:
    texts = [break_even_text(calls) for calls in (5000.0, 1.0, math.inf, None)]
    assert texts == ["5\u00a0000 calls", "1 call", "never", MISSING]


def test_the_baseline_is_found_among_the_points_of_one_workload_and_regime() -> None:
    sustained = msgspec.structs.replace(JOB, id="job-3", regime=Regime.SUSTAINED)
    elsewhere = msgspec.structs.replace(point(Provider.EAGER, 1e-3), number=4, job=sustained)
    slower = msgspec.structs.replace(point(Provider.EAGER, 4e-3), number=2)
    cuda = msgspec.structs.replace(point(Provider.CUDA, 1e-3), number=3)
    points = [EAGER, slower, cuda, elsewhere]
    assert baseline_of(cuda, points) is EAGER
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
