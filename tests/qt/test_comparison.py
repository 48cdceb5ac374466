"""Who is faster than whom, and whether the samples can tell."""

import msgspec
import pytest

from roofscope.app.presentation.comparison import speed_up_short_text, speed_up_text
from roofscope.profiling.analysis.comparison import Baselines
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.outcome import TimeStats
from roofscope.profiling.results.session import Point
from roofscope.tests import sessions

DRIFT = (1.00, 1.01, 1.03, 1.02, 1.05, 1.06, 1.04, 1.08, 1.09, 1.10, 1.12, 1.11)


def point(
    number: int, provider: Provider, samples_s: tuple[float, ...], job: Job, first_round: int = 0
) -> Point:
    middle = sorted(samples_s)[len(samples_s) // 2]
    time = TimeStats(
        middle,
        middle * 0.95,
        middle * 1.05,
        samples_s,
        8,
        tuple(range(first_round, first_round + len(samples_s))),
    )
    implementation = next(i for i in job.implementations if i.provider is provider)
    outcome = msgspec.structs.replace(sessions.measured(middle), time=time)
    return Point(number, job, implementation, outcome, sessions.RECORDED_AT)


@pytest.fixture
def job() -> Job:
    return sessions.job("gelu", Dtype.FLOAT32, "large", "job-1")


def test_a_drift_that_both_share_cancels(job: Job):
    eager = point(1, Provider.EAGER, tuple(1.02e-3 * d for d in DRIFT), job)
    cuda = point(2, Provider.CUDA, tuple(1e-3 * d for d in DRIFT), job)
    found = Baselines([eager, cuda], Provider.EAGER, None).speed_up(cuda)
    assert found is not None
    assert found.common_rounds == 12
    assert found.ratio == pytest.approx(1.02)
    assert found.distinguishable
    assert found.high - found.low < 0.001
    assert speed_up_text(found) == "1.02×, 95 % CI 1.020 to 1.020"


def test_what_is_far_slower_is_told_as_a_factor_above_one(job: Job):
    eager = point(1, Provider.EAGER, tuple(1e-5 * d for d in DRIFT), job)
    cuda = point(2, Provider.CUDA, tuple(2.5e-3 * d for d in DRIFT), job)
    found = Baselines([eager, cuda], Provider.EAGER, None).speed_up(cuda)
    assert found is not None
    assert found.ratio == pytest.approx(0.004)
    assert speed_up_short_text(found) == "250× slower ± 0 %"
    assert speed_up_text(found) == "250× slower, 95 % CI 250.0 to 250.0"


def test_separate_runs_cannot_tell_what_one_run_can(job: Job):
    again = msgspec.structs.replace(job, id="job-2")
    eager = point(1, Provider.EAGER, tuple(1.02e-3 * d for d in DRIFT), job)
    cuda = point(2, Provider.CUDA, tuple(1e-3 * d for d in DRIFT), again)
    found = Baselines([eager, cuda], Provider.EAGER, None).speed_up(cuda)
    assert found is not None
    assert found.common_rounds == 0
    assert not found.distinguishable
    assert speed_up_short_text(found) == "not distinguishable"
    assert speed_up_text(found).endswith("separate runs")


def test_only_rounds_that_both_kept_count(job: Job):
    eager = point(1, Provider.EAGER, (2e-3,) * 6, job)
    cuda = point(2, Provider.CUDA, (1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 9e-3), job, first_round=1)
    found = Baselines([eager, cuda], Provider.EAGER, None).speed_up(cuda)
    assert found is not None
    assert found.common_rounds == 5
    assert found.ratio == pytest.approx(2.0)


def test_the_rival_of_the_same_job_is_the_baseline_before_a_newer_one(job: Job):
    again = msgspec.structs.replace(job, id="job-2")
    first = point(1, Provider.EAGER, (2e-3,) * 5, job)
    cuda = point(2, Provider.CUDA, (1e-3,) * 5, job)
    newer = point(3, Provider.EAGER, (4e-3,) * 5, again)
    baselines = Baselines([first, cuda, newer], Provider.EAGER, None)
    assert baselines.of(cuda) == first
    assert baselines.of(newer) == newer
    alone = point(4, Provider.CUDA, (1e-3,) * 5, msgspec.structs.replace(job, id="job-3"))
    assert Baselines([first, newer, alone], Provider.EAGER, None).of(alone) == newer


def test_regimes_are_never_compared(job: Job):
    from roofscope.profiling.planning.plan import Regime

    eager = point(1, Provider.EAGER, (2e-3,) * 5, job)
    cuda = point(2, Provider.CUDA, (1e-3,) * 5, msgspec.structs.replace(job, regime=Regime.SUSTAINED))
    assert Baselines([eager, cuda], Provider.EAGER, None).speed_up(cuda) is None
