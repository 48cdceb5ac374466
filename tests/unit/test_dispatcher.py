"""Whole jobs to whichever device is free, without any worker."""

from msgspec.structs import replace

from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.supervision.dispatcher import Assignment, Dispatcher
from roofscope.profiling.supervision.protocol import Probe, Run
from roofscope.profiling.supervision.run_events import (
    Banner,
    BecameIdle,
    CeilingsComplete,
    CodeArrived,
    EnvironmentKnown,
    OutcomeArrived,
    Progressed,
    WorkerLost,
)
from roofscope.tests.sessions import DEVICE, ENVIRONMENT, job, measured

TWIN = replace(DEVICE, id="cuda:1", uuid="GPU-twin")
JOBS = tuple(Run(job("gelu", Dtype.FLOAT32, "small", f"job-{number}")) for number in range(1, 5))
OWN = {device.uuid: [Probe("ceilings", device.id)] for device in (DEVICE, TWIN)}


def dispatcher(*jobs: Run, probes: bool = False) -> Dispatcher:
    return Dispatcher((DEVICE, TWIN), jobs, OWN if probes else {}, now=0.0)


def given(assignments: list[Assignment]) -> list[tuple[str, str]]:
    """The device and the task's id of each."""
    return [
        (device.id, task.id if isinstance(task, Probe) else task.job.id)  # type: ignore[union-attr]
        for device, task in assignments
    ]


def outcome_of(run: Run) -> OutcomeArrived:
    return OutcomeArrived(run.job, run.job.implementations[0], measured(1e-3))


def finish(shared: Dispatcher, uuid: str, run: Run) -> None:
    for implementation in run.job.implementations:
        shared.hear(uuid, OutcomeArrived(run.job, implementation, measured(1e-3)), now=1.0)
    assert shared.hear(uuid, BecameIdle(), now=1.0) is None


def test_the_device_that_is_free_takes_the_next_job() -> None:
    shared = dispatcher(*JOBS)
    assert given(shared.assign()) == [("cuda:0", "job-1"), ("cuda:1", "job-2")]
    assert shared.assign() == []
    finish(shared, TWIN.uuid, JOBS[1])
    assert given(shared.assign()) == [("cuda:1", "job-3")]
    finish(shared, TWIN.uuid, JOBS[2])
    assert given(shared.assign()) == [("cuda:1", "job-4")]
    finish(shared, TWIN.uuid, JOBS[3])
    assert shared.assign() == []
    assert not shared.is_over
    finish(shared, DEVICE.uuid, JOBS[0])
    assert shared.is_over


def test_jobs_of_many_versions_begin_first_where_there_are_several_devices() -> None:
    first, second, third = JOBS[:3]
    assert len(second.job.implementations) > 1
    short = Run(replace(first.job, implementations=first.job.implementations[:1]))
    assert given(dispatcher(short, second, third).assign()) == [("cuda:0", "job-2"), ("cuda:1", "job-3")]
    alone = Dispatcher((DEVICE,), (short, second), {}, now=0.0)
    assert given(alone.assign()) == [("cuda:0", "job-1")]


def test_each_device_measures_its_own_ceilings_after_the_last_job() -> None:
    shared = dispatcher(*JOBS[:1], probes=True)
    assert given(shared.assign()) == [("cuda:0", "job-1"), ("cuda:1", "ceilings")]
    finish(shared, DEVICE.uuid, JOBS[0])
    assert given(shared.assign()) == [("cuda:0", "ceilings")]


def test_a_worker_knows_its_gpu_as_the_first_and_the_program_by_its_id() -> None:
    shared = dispatcher(*JOBS[:2], probes=True)
    tasks = [task for _, task in shared.assign()]
    assert [task.job.device for task in tasks if isinstance(task, Run)] == ["cuda:0", "cuda:0"]
    heard = shared.hear(TWIN.uuid, outcome_of(JOBS[1]), now=1.0)
    assert isinstance(heard, OutcomeArrived)
    assert heard.job.device == "cuda:1"
    alone = replace(ENVIRONMENT, devices=(replace(TWIN, id="cuda:0"),))
    assert shared.hear(TWIN.uuid, EnvironmentKnown(alone), now=1.0) == EnvironmentKnown(
        replace(ENVIRONMENT, devices=(TWIN,))
    )
    assert shared.hear(TWIN.uuid, CeilingsComplete("cuda:0"), now=1.0) == CeilingsComplete("cuda:1")


def test_a_device_that_gives_up_leaves_its_job_whole_to_another() -> None:
    shared = dispatcher(*JOBS[:2])
    shared.assign()
    busy = shared.hear(TWIN.uuid, Banner("It is busy.", is_busy=True), now=1.0)
    assert busy == Banner("It is busy.")  # the run goes on
    shared.hear(TWIN.uuid, BecameIdle(), now=1.0)
    assert shared.assign() == []  # the other one is at work
    finish(shared, DEVICE.uuid, JOBS[0])
    assert given(shared.assign()) == [("cuda:0", "job-2")]
    last = Banner("This one, too.", is_busy=True)
    assert shared.hear(DEVICE.uuid, last, now=2.0) == last
    shared.hear(DEVICE.uuid, BecameIdle(), now=2.0)
    assert shared.assign() == []
    assert shared.is_over
    assert [run.job.id for run in shared.left] == ["job-2"]


def test_a_job_given_up_half_way_is_not_passed_over_in_silence() -> None:
    """Such as where another Roofscope has taken the device after a worker was lost."""
    shared = dispatcher(*JOBS[:3])
    shared.assign()
    assert len(JOBS[1].job.implementations) > 1
    shared.hear(TWIN.uuid, outcome_of(JOBS[1]), now=1.0)
    shared.hear(TWIN.uuid, BecameIdle(), now=1.0)
    assert shared.assign() == []  # it takes no other job
    finish(shared, DEVICE.uuid, JOBS[0])
    assert given(shared.assign()) == [("cuda:0", "job-3")]
    finish(shared, DEVICE.uuid, JOBS[2])
    assert shared.is_over
    [rest] = shared.left
    assert rest.job.id == "job-2"
    assert rest.job.implementations == JOBS[1].job.implementations[1:]
    count = len(rest.job.implementations)
    assert shared.left_text == f"{count} of gelu were not run: their devices gave up; run them again."


def test_generated_code_alone_does_not_count_as_heard() -> None:
    """Where the worker gives up then, another device takes the job whole."""
    shared = dispatcher(*JOBS[:2])
    shared.assign()
    code = CodeArrived(JOBS[1].job, JOBS[1].job.implementations[0], ())
    assert shared.hear(TWIN.uuid, code, now=1.0) == replace(code, job=_on(JOBS[1].job, "cuda:1"))
    shared.hear(TWIN.uuid, BecameIdle(), now=1.0)
    finish(shared, DEVICE.uuid, JOBS[0])
    assert given(shared.assign()) == [("cuda:0", "job-2")]


def _on(job: Job, device: str) -> Job:
    return replace(job, device=device)


def test_a_lost_worker_costs_its_device_no_further_job() -> None:
    shared = dispatcher(*JOBS[:3])
    shared.assign()
    lost = WorkerLost("The worker was lost.", "", restarting=False)
    assert shared.hear(TWIN.uuid, lost, now=1.0) == replace(lost, restarting=True)
    finish(shared, TWIN.uuid, JOBS[1])
    assert given(shared.assign()) == [("cuda:1", "job-3")]


def test_a_stop_begins_nothing_new() -> None:
    shared = dispatcher(*JOBS, probes=True)
    shared.assign()
    shared.drop()
    shared.hear(TWIN.uuid, BecameIdle(), now=1.0)  # it had not even started
    finish(shared, DEVICE.uuid, JOBS[0])
    assert shared.assign() == []
    assert shared.is_over
    assert shared.left == ()


def test_progress_is_that_of_all() -> None:
    shared = dispatcher(*JOBS[:2])
    shared.assign()
    shared.hear(TWIN.uuid, outcome_of(JOBS[1]), now=1.0)
    said = shared.hear(DEVICE.uuid, Progressed(0, 1, "gelu", None, "", None), now=10.0)
    count = len(JOBS[0].job.implementations)
    rest_s = 10.0 * (2 * count - 1)
    wide = (rest_s / 2, rest_s * 2)  # after one of them
    assert said == Progressed(1, 2 * count, "cuda:0: gelu", None, "", rest_s, wide)
