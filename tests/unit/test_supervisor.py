"""The supervisor as a pure machine: what happened goes in, what to do comes out."""

from collections.abc import Callable
from unittest.mock import ANY

import msgspec
import pytest
from msgspec.structs import replace

from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Work, Workload
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.outcome import (
    BuildInfo,
    Cancelled,
    Evidence,
    Failed,
    FailureKind,
    Measured,
    Method,
    Outcome,
    SkipKind,
    Skipped,
    Stage,
    TimeStats,
    Verification,
)
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.supervision.effects import Effect, Kill, Send, Spawn
from roofscope.profiling.supervision.protocol import (
    PROTOCOL_VERSION,
    Bye,
    Cancel,
    CeilingReady,
    CodeReady,
    Event,
    Hello,
    Open,
    OutcomeReady,
    Probe,
    ProofReady,
    Renew,
    Run,
    StageStarted,
    Task,
    TaskDone,
    TraceReady,
)
from roofscope.profiling.supervision.run_events import (
    Awaited,
    Banner,
    BecameIdle,
    CeilingsComplete,
    CodeArrived,
    OutcomeArrived,
    Progressed,
    WorkerLost,
)
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.tests.sessions import CEILINGS

EAGER = Implementation("gelu", Provider.EAGER, "", "hash-eager")
TRITON = Implementation("gelu", Provider.TRITON, "tiles", "hash-triton")
CUDA = Implementation("gelu", Provider.CUDA, "packed", "hash-cuda")
ENVIRONMENT = Environment("host", "Linux", "3.12.0", (), ())
MEASURED = Measured(
    TimeStats(1e-3, 1e-3, 1e-3, (1e-3,), 10),
    Method.WALL_CLOCK,
    "",
    Verification(0.0, 0.0, 1e-6, 2),
    BuildInfo(0.0),
    Evidence(),
)


def job(number: int = 1, implementations: tuple[Implementation, ...] = (EAGER, TRITON, CUDA)) -> Job:
    workload = Workload("gelu", Dtype.FLOAT32, {"n": 8})
    return Job(f"job-{number}", "cuda:0", workload, Work(72, 32, 32), implementations)


def hello(catalog: str = "catalog", protocol: int = PROTOCOL_VERSION) -> Hello:
    return Hello(protocol, ENVIRONMENT, catalog)


def started(*jobs: Job) -> Supervisor:
    """A supervisor whose worker is up and has the first job."""
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(each) for each in jobs], now=0.0)
    supervisor.feed(hello(), now=1.0)
    return supervisor


def sent(effects: list[Effect]) -> list[object]:
    return [effect.command for effect in effects if isinstance(effect, Send)]


def recorded(effects: list[Effect]) -> list[tuple[str, Outcome]]:
    return [(e.implementation.stem, e.outcome) for e in effects if isinstance(e, OutcomeArrived)]


def of_kind(effects: list[Effect], kind: type) -> list[object]:
    return [effect for effect in effects if isinstance(effect, kind)]


def test_a_run_goes_from_spawn_to_idle() -> None:
    supervisor = Supervisor([], "catalog")
    effects = supervisor.submit([Run(job(1, (EAGER,)))], now=0.0)
    assert of_kind(effects, Spawn)
    assert sent(supervisor.feed(hello(), now=1.0)) == [Run(job(1, (EAGER,)))]
    effects = supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=2.0)
    assert recorded(effects) == [("eager", MEASURED)]
    effects = supervisor.feed(TaskDone("job-1"), now=3.0)
    assert of_kind(effects, BecameIdle)
    assert supervisor.is_idle


def test_progress_counts_implementations_and_extrapolates() -> None:
    supervisor = started(job())
    progress = of_kind(supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=10.0), Progressed)[0]
    assert isinstance(progress, Progressed)
    assert (progress.done, progress.total) == (1, 3)
    assert progress.remaining_s == pytest.approx(20.0)


def test_a_lost_worker_costs_the_implementation_in_flight_and_no_other() -> None:
    supervisor = started(job(1), job(2, (EAGER,)))
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=2.0)
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 60.0, CUDA), now=3.0)
    effects = supervisor.exited("killed by SIGSEGV", "the log's end", now=4.0)

    [(stem, outcome)] = recorded(effects)
    assert stem == "cuda_packed"
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.WORKER_LOST
    assert "SIGSEGV" in outcome.message
    assert outcome.log == "the log's end"
    assert of_kind(effects, WorkerLost)
    assert of_kind(effects, Spawn)
    again = sent(supervisor.feed(hello(), now=5.0))
    assert again == [Run(msgspec.structs.replace(job(1), implementations=(TRITON,)))]


@pytest.mark.parametrize("timed_out", [False, True])
def test_a_worker_lost_with_several_in_turn_costs_only_the_one_that_loses_it_alone(timed_out: bool) -> None:
    supervisor = started(job())
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=1.5)
    supervisor.feed(StageStarted("job-1", Stage.MEASURE, 10.0, TRITON, "2 in turn"), now=2.0)
    if timed_out:
        supervisor.tick(now=13.0)
    effects = supervisor.exited("killed by SIGSEGV", "", now=13.0)
    assert recorded(effects) == []
    [lost] = of_kind(effects, WorkerLost)
    assert isinstance(lost, WorkerLost)
    assert "2 measured in turn" in lost.message
    assert ("in time" in lost.message) is timed_out

    first = sent(supervisor.feed(hello(), now=14.0))
    assert [run.job.implementations for run in first if isinstance(run, Run)] == [(TRITON,)]
    supervisor.feed(StageStarted("job-1", Stage.MEASURE, 10.0, TRITON, "1 in turn"), now=15.0)
    [(stem, outcome)] = recorded(supervisor.exited("killed by SIGSEGV", "", now=16.0))
    assert stem == TRITON.stem
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.WORKER_LOST
    second = sent(supervisor.feed(hello(), now=17.0))
    assert [run.job.implementations for run in second if isinstance(run, Run)] == [(CUDA,)]


@pytest.mark.parametrize("is_up", [False, True])
def test_a_stop_leaves_an_outcome_for_each_that_was_put_apart(is_up: bool) -> None:
    supervisor = started(job(1), job(2))
    supervisor.feed(StageStarted("job-1", Stage.MEASURE, 10.0, EAGER, "3 in turn"), now=2.0)
    supervisor.exited("killed by SIGSEGV", "", now=3.0)
    if is_up:
        supervisor.feed(hello(), now=4.0)
    effects = supervisor.stop(now=5.0)
    effects += supervisor.exited("ended", "", now=6.0)
    assert sorted(stem for stem, _ in recorded(effects)) == sorted(i.stem for i in (EAGER, TRITON, CUDA))
    assert all(isinstance(outcome, Cancelled) for _, outcome in recorded(effects))
    assert supervisor.is_idle


def test_a_blamed_implementation_is_paused_until_its_source_changes() -> None:
    supervisor = started(job(1, (CUDA,)))
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 60.0, CUDA), now=1.0)
    supervisor.exited("killed by SIGKILL", "", now=2.0)
    edited = msgspec.structs.replace(CUDA, source_hash="hash-cuda-2")

    supervisor.submit([Run(job(2, (CUDA, EAGER)))], now=3.0)
    effects = supervisor.feed(hello(), now=4.0)
    [(stem, outcome)] = recorded(effects)
    assert stem == "cuda_packed"
    assert isinstance(outcome, Skipped)
    assert outcome.kind is SkipKind.PAUSED
    assert sent(effects) == [Run(job(2, (EAGER,)))]
    supervisor.feed(TaskDone("job-2"), now=5.0)
    assert sent(supervisor.submit([Run(job(3, (edited,)))], now=6.0)) == [Run(job(3, (edited,)))]


def test_an_edit_of_any_file_ends_a_pause() -> None:
    """Its failure may have been its reference's fault, or a helper's."""
    supervisor = started(job(1, (CUDA,)))
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 60.0, CUDA), now=1.0)
    supervisor.exited("killed by SIGKILL", "", now=2.0)
    supervisor.catalog_changed("catalog")  # read again, and the same
    supervisor.submit([Run(job(2, (CUDA,)))], now=3.0)
    effects = supervisor.feed(hello(), now=4.0)
    assert [type(outcome) for _, outcome in recorded(effects)] == [Skipped]
    supervisor.catalog_changed("edited")
    effects = supervisor.submit([Run(job(3, (CUDA,)))], now=6.0)
    assert recorded(effects) == []


def finished(supervisor: Supervisor, number: int = 1, now: float = 2.0) -> None:
    """The job of one implementation is over; its worker waits."""
    supervisor.feed(OutcomeReady(f"job-{number}", EAGER, MEASURED), now)
    supervisor.feed(TaskDone(f"job-{number}"), now)


def test_a_worker_reads_edited_files_before_its_next_task() -> None:
    supervisor = started(job(1, (EAGER,)))
    finished(supervisor)
    supervisor.catalog_changed("edited", ["/mine"])
    effects = supervisor.submit([Run(job(2, (EAGER,)))], now=3.0)
    assert sent(effects) == [Renew(("/mine",))]
    assert not of_kind(effects, Spawn)
    effects = supervisor.feed(hello("edited"), now=3.5)
    assert sent(effects) == [Run(job(2, (EAGER,)))]
    finished(supervisor, 2, 4.0)
    assert sent(supervisor.submit([Run(job(3, (EAGER,)))], now=5.0)) == [Run(job(3, (EAGER,)))]


def test_files_edited_once_more_while_a_worker_reads_them_cost_no_worker() -> None:
    supervisor = started(job(1, (EAGER,)))
    finished(supervisor)
    supervisor.catalog_changed("edited")
    supervisor.submit([Run(job(2, (EAGER,)))], now=3.0)
    effects = supervisor.feed(hello("edited again"), now=3.5)
    assert [type(effect) for effect in effects] == [Banner, BecameIdle]
    supervisor.catalog_changed("edited again")
    effects = supervisor.submit([Run(job(3, (EAGER,)))], now=4.0)
    assert sent(effects) == [Renew()]


def test_a_worker_that_is_lost_while_it_reads_edited_files_is_replaced() -> None:
    supervisor = started(job(1, (EAGER,)))
    finished(supervisor)
    supervisor.catalog_changed("edited")
    supervisor.submit([Run(job(2, (EAGER,)))], now=3.0)
    effects = supervisor.exited("exit code 1", "", now=4.0)
    assert of_kind(effects, Spawn)
    assert recorded(effects) == []
    assert sent(supervisor.feed(hello("edited"), now=5.0)) == [Run(job(2, (EAGER,)))]


def test_files_edited_while_a_worker_starts_are_read_again() -> None:
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(job(1, (EAGER,)))], now=0.0)
    supervisor.catalog_changed("edited")
    supervisor.supersede([Run(job(2, (EAGER,)))], now=0.5)
    assert sent(supervisor.feed(hello(), now=1.0)) == [Renew()]
    assert sent(supervisor.feed(hello("edited"), now=1.2)) == [Run(job(2, (EAGER,)))]


def test_a_stop_while_a_worker_reads_edited_files_ends_the_run() -> None:
    supervisor = started(job(1, (EAGER,)))
    finished(supervisor)
    supervisor.catalog_changed("edited")
    supervisor.submit([Run(job(2, (EAGER,)))], now=3.0)
    assert of_kind(supervisor.stop(now=3.1), Kill)
    effects = supervisor.exited("killed by SIGKILL", "", now=3.2)
    assert of_kind(effects, BecameIdle)
    assert sent(supervisor.submit([Run(job(3, (EAGER,)))], now=4.0))[0] == Open(PROTOCOL_VERSION, (), ANY)


def test_what_supersedes_cancels_the_task_in_flight_and_ends_no_worker() -> None:
    supervisor = started(job(1, (EAGER, TRITON)), job(2, (CUDA,)))
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=2.0)
    supervisor.catalog_changed("edited")
    effects = supervisor.supersede([Run(job(3, (TRITON,)))], now=3.0)
    assert sent(effects) == [Cancel("job-1")]
    assert not of_kind(supervisor.tick(now=30.0), Kill)  # as Stop would
    effects = supervisor.feed(TaskDone("job-1"), now=31.0)
    assert recorded(effects) == [("triton_tiles", Cancelled("Its file was saved again meanwhile."))]
    assert sent(effects) == [Renew()]
    assert sent(supervisor.feed(hello("edited"), now=32.0)) == [Run(job(3, (TRITON,)))]
    assert sent(supervisor.supersede([Run(job(4, (TRITON,)))], now=33.0)) == [Cancel("job-3")]


@pytest.mark.parametrize("queue", [Supervisor.submit, Supervisor.supersede])
def test_a_save_that_is_noticed_after_a_stop_does_not_undo_it(
    queue: Callable[[Supervisor, list[Task], float], list[Effect]],
) -> None:
    supervisor = started(job(1, (EAGER, TRITON)))
    supervisor.stop(now=2.0)
    supervisor.catalog_changed("edited")
    assert queue(supervisor, [Run(job(2, (TRITON,)))], 2.3) == []
    assert of_kind(supervisor.tick(now=2.0 + 30.0), Kill)
    effects = supervisor.exited("killed by SIGKILL", "", now=33.0)
    assert {type(outcome) for _, outcome in recorded(effects)} == {Cancelled}
    assert of_kind(effects, BecameIdle)
    assert not of_kind(effects, Spawn)


def test_what_is_superseded_is_not_tried_again_after_the_loss_of_its_worker() -> None:
    supervisor = started(job(1, (EAGER, TRITON)))
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 60.0, EAGER), now=2.0)
    supervisor.supersede([Run(job(2, (TRITON,)))], now=3.0)
    effects = supervisor.exited("killed by SIGSEGV", "", now=4.0)
    assert [(stem, type(outcome)) for stem, outcome in recorded(effects)] == [
        ("eager", Failed),
        ("triton_tiles", Cancelled),
    ]
    assert sent(supervisor.feed(hello(), now=5.0)) == [Run(job(2, (TRITON,)))]


def test_a_deadline_kills_and_blames() -> None:
    supervisor = started(job(1, (TRITON,)))
    supervisor.feed(StageStarted("job-1", Stage.BUILD, 60.0, TRITON), now=10.0)
    assert not of_kind(supervisor.tick(now=69.0), Kill)
    assert of_kind(supervisor.tick(now=70.0), Kill)
    [(_, outcome)] = recorded(supervisor.exited("killed by SIGKILL", "", now=70.5))
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.TIMEOUT
    assert "no answer for 60 s" in outcome.message


def awaited(effects: list[Effect]) -> list[tuple[float, float]]:
    return [(e.silent_s, e.left_s) for e in effects if isinstance(e, Awaited)]


def test_a_silence_is_counted_down_each_second_from_the_fifth_on() -> None:
    supervisor = started(job(1, (TRITON,)))
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 20.0, TRITON), now=10.0)
    assert supervisor.tick(now=14.9) == []
    assert awaited(supervisor.tick(now=16.0)) == [(6, 14.0)]
    assert supervisor.tick(now=16.2) == []
    assert awaited(supervisor.tick(now=17.5)) == [(7, 12.5)]
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 20.0, TRITON), now=18.0)
    assert supervisor.tick(now=19.0) == []


def test_a_compiler_is_counted_down_in_its_last_minute_only() -> None:
    supervisor = started(job(1, (TRITON,)))
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 240.0, TRITON, "compiling"), now=0.0)
    assert supervisor.tick(now=179.0) == []
    assert awaited(supervisor.tick(now=181.0)) == [(181, 59.0)]


def test_what_is_given_more_time_gets_twice_as_long_until_its_task_is_done() -> None:
    supervisor = started(job(1, (TRITON,)), job(2, (TRITON,)))
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 20.0, TRITON), now=10.0)
    assert awaited(supervisor.give_more_time(now=28.0)) == [(18, 22.0)]
    assert not of_kind(supervisor.tick(now=49.0), Kill)
    supervisor.feed(StageStarted("job-1", Stage.MEASURE, 20.0, TRITON), now=49.5)
    assert not of_kind(supervisor.tick(now=89.0), Kill)
    supervisor.feed(TaskDone("job-1"), now=89.5)
    supervisor.feed(StageStarted("job-2", Stage.VERIFY, 20.0, TRITON), now=90.0)
    assert of_kind(supervisor.tick(now=110.0), Kill)


def test_patience_multiplies_deadlines_but_not_the_grace_of_a_stop() -> None:
    supervisor = Supervisor([], "catalog", patience=3.0)
    supervisor.submit([Run(job())], now=0.0)
    supervisor.feed(hello(), now=1.0)
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 20.0, TRITON), now=10.0)
    assert not of_kind(supervisor.tick(now=69.0), Kill)
    supervisor.stop(now=69.5)
    assert supervisor.give_more_time(now=70.0) == []
    assert of_kind(supervisor.tick(now=72.0), Kill)


def test_time_without_a_core_does_not_count_but_not_without_end() -> None:
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(job())], now=0.0)
    supervisor.feed(hello(), now=1.0)
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 20.0, TRITON), now=10.0)
    assert not of_kind(supervisor.tick(now=25.0, waited_s=12.0), Kill)
    assert not of_kind(supervisor.tick(now=41.0), Kill)
    assert of_kind(supervisor.tick(now=42.0), Kill)

    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(job())], now=0.0)
    supervisor.feed(hello(), now=1.0)
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 20.0, TRITON), now=10.0)
    for now in range(11, 90):
        assert not of_kind(supervisor.tick(float(now), waited_s=1.0), Kill)
    assert of_kind(supervisor.tick(now=90.0, waited_s=1.0), Kill)


def test_what_was_waited_before_a_stage_began_does_not_prolong_it() -> None:
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(job())], now=0.0)
    supervisor.feed(hello(), now=1.0)
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 20.0, TRITON), now=100.0)
    assert not of_kind(supervisor.tick(now=101.0, waited_s=60.0), Kill)
    assert of_kind(supervisor.tick(now=121.0), Kill)


CODES = (Code(CodeKind.PTX, "kernel", "ret;"),)
OTHER = Implementation("softmax", Provider.EAGER, "", "hash-other")


@pytest.mark.parametrize(
    "event",
    [
        OutcomeReady("job-2", EAGER, MEASURED),
        OutcomeReady("job-1", OTHER, MEASURED),
        StageStarted("job-1", Stage.MEASURE, 1e9, OTHER),
        TaskDone("job-2"),
        TaskDone("another"),
        CeilingReady("job-1", CEILINGS[0]),
        ProofReady("job-1", Proof(ProofName.PROFILER, True, "forged", "")),
        TraceReady("job-1", EAGER, b""),
        CodeReady("job-1", EAGER, CODES),  # the job does not ask for it
        hello(),
    ],
)
def test_what_is_not_of_the_task_in_flight_is_not_recorded(event: Event) -> None:
    supervisor = started(job(1), job(2))
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 20.0, EAGER), now=2.0)
    [banner] = supervisor.feed(event, now=3.0)
    assert isinstance(banner, Banner)
    assert supervisor.feed(event, now=4.0) == []  # said once
    assert of_kind(supervisor.tick(now=23.0), Kill)  # its deadline stands


def test_code_that_a_job_asks_for_is_passed_on_once_behind_its_outcome() -> None:
    asking = replace(job(1), keeps_code=True)
    supervisor = started(asking)
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=2.0)
    [arrived] = supervisor.feed(CodeReady("job-1", EAGER, CODES), now=2.0)
    assert arrived == CodeArrived(asking, EAGER, CODES)
    [banner] = supervisor.feed(CodeReady("job-1", EAGER, CODES), now=3.0)
    assert isinstance(banner, Banner)
    assert supervisor.feed(CodeReady("job-1", CUDA, CODES), now=3.0) == []  # not before its outcome


@pytest.mark.parametrize("timed_out", [False, True])
def test_a_worker_lost_over_kept_code_costs_no_outcome(timed_out: bool) -> None:
    """Its outcome is there, and none of the others of its job was at work."""
    supervisor = started(replace(job(1), keeps_code=True))
    supervisor.feed(StageStarted("job-1", Stage.CHECK, 60.0, EAGER), now=2.0)
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=2.0)
    if timed_out:
        assert of_kind(supervisor.tick(now=100.0), Kill)
    effects = supervisor.exited("killed by SIGKILL", "", now=101.0)
    assert recorded(effects) == []
    [lost] = of_kind(effects, WorkerLost)
    assert isinstance(lost, WorkerLost)
    assert lost.message.endswith(
        "after gelu / eager PyTorch had its result; a new one takes the other 2 of its job."
    )
    again = sent(supervisor.feed(hello(), now=102.0))
    rest = replace(job(1), keeps_code=True, implementations=job(1).implementations[1:])
    assert again == [Run(rest)]


def test_a_second_outcome_of_the_same_implementation_is_not_recorded() -> None:
    supervisor = started(job(1))
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=2.0)
    assert recorded(supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=2.0)) == []
    [progress] = of_kind(supervisor.feed(TaskDone("job-1"), now=3.0), Progressed)
    assert isinstance(progress, Progressed)
    assert (progress.done, progress.total) == (3, 3)


def test_each_worker_has_a_secret_of_its_own() -> None:
    made = iter(("one", "two"))
    supervisor = Supervisor([], "catalog", make_secret=lambda: next(made))
    first = supervisor.submit([Run(job())], now=0.0)
    supervisor.feed(hello(), now=1.0)
    second = supervisor.exited("killed by SIGSEGV", "", now=2.0)
    for effects, secret in ((first, "one"), (second, "two")):
        assert of_kind(effects, Spawn) == [Spawn(secret)]
        [opening] = sent(effects)
        assert isinstance(opening, Open)
        assert opening.secret == secret


def test_a_task_that_never_begins_a_stage_has_a_deadline_too() -> None:
    """As where loading reference.py hangs."""
    supervisor = started(job(1, (TRITON, EAGER)))
    assert not of_kind(supervisor.tick(now=100.0), Kill)
    assert of_kind(supervisor.tick(now=1000.0), Kill)
    [(stem, outcome)] = recorded(supervisor.exited("killed by SIGKILL", "", now=1000.5))
    assert stem == TRITON.stem
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.TIMEOUT


def test_a_device_fault_already_reported_blames_nobody_else() -> None:
    supervisor = started(job(1, (CUDA, EAGER)))
    fault = Failed(FailureKind.DEVICE_FAULT, Stage.VERIFY, "gelu / CUDA packed broke the context.")
    supervisor.feed(OutcomeReady("job-1", CUDA, fault), now=2.0)
    supervisor.feed(Bye("gelu / CUDA packed broke the context.", restart=True), now=2.1)
    effects = supervisor.exited("exit code 1", "", now=2.2)
    assert recorded(effects) == []
    assert of_kind(effects, Spawn)
    assert sent(supervisor.feed(hello(), now=3.0)) == [Run(job(1, (EAGER,)))]


def test_a_job_that_breaks_the_device_before_any_outcome_does_not_come_back_for_ever() -> None:
    supervisor = started(job(1, (CUDA, EAGER)))
    for stem, rest in (("cuda_packed", (EAGER,)), ("eager", ())):
        supervisor.feed(Bye("gelu float32 broke the device's context.", restart=True), now=2.0)
        effects = supervisor.exited("exit code 1", "", now=2.1)
        [(blamed, outcome)] = recorded(effects)
        assert blamed == stem
        assert isinstance(outcome, Failed)
        assert outcome.kind is FailureKind.DEVICE_FAULT
        if rest:
            assert sent(supervisor.feed(hello(), now=3.0)) == [Run(job(1, rest))]
    assert supervisor.is_idle


def test_stop_cancels_then_kills_within_three_seconds() -> None:
    supervisor = started(job(1), job(2))
    assert sent(supervisor.stop(now=1.0)) == [Cancel("job-1")]
    assert supervisor.tick(now=2.0) == []
    assert of_kind(supervisor.tick(now=3.1), Kill)
    effects = supervisor.exited("killed by SIGKILL", "", now=3.3)
    assert all(isinstance(outcome, Cancelled) for _, outcome in recorded(effects))
    assert of_kind(effects, BecameIdle)


def test_a_second_stop_kills_at_once() -> None:
    supervisor = started(job(1))
    supervisor.stop(now=1.0)
    assert of_kind(supervisor.stop(now=1.1), Kill)


def test_a_cancelled_job_that_ends_by_itself_leaves_the_worker_alive() -> None:
    supervisor = started(job(1), job(2))
    supervisor.stop(now=1.0)
    effects = supervisor.feed(TaskDone("job-1"), now=1.5)
    assert of_kind(effects, BecameIdle)
    assert supervisor.tick(now=100.0) == []
    assert sent(supervisor.submit([Run(job(3))], now=101.0)) == [Run(job(3))]


def test_what_a_stop_leaves_of_a_job_is_cancelled() -> None:
    supervisor = started(job(1), job(2))
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=1.0)
    supervisor.stop(now=1.0)
    effects = supervisor.feed(TaskDone("job-1"), now=1.5)
    assert recorded(effects) == [("triton_tiles", Cancelled()), ("cuda_packed", Cancelled())]


def test_what_a_failed_job_leaves_has_failed_of_the_jobs_problem_and_is_not_paused() -> None:
    supervisor = started(job(1))
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=1.0)
    supervisor.feed(StageStarted("job-1", Stage.SETTLE, 60.0, TRITON), now=1.0)
    effects = supervisor.feed(TaskDone("job-1", "gelu float32 failed: no room."), now=1.5)
    failed = Failed(FailureKind.INTERNAL, Stage.SETTLE, "gelu float32 failed: no room.")
    assert recorded(effects) == [("triton_tiles", failed), ("cuda_packed", failed)]
    assert sent(supervisor.submit([Run(job(2))], now=2.0)) == [Run(job(2))]


def test_what_a_job_leaves_for_no_reason_has_failed() -> None:
    supervisor = started(job(1, (EAGER,)))
    [(_, outcome)] = recorded(supervisor.feed(TaskDone("job-1"), now=1.5))
    assert isinstance(outcome, Failed)
    assert "run it again" in outcome.message


def test_a_worker_that_does_not_start_stops_the_queue() -> None:
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(job())], now=0.0)
    effects = supervisor.exited("exit code 1", "ImportError: torch", now=1.0)
    [lost] = of_kind(effects, WorkerLost)
    assert isinstance(lost, WorkerLost)
    assert not lost.restarting
    assert "ImportError" in lost.log_tail
    assert not of_kind(effects, Spawn)
    assert supervisor.is_idle


def test_a_worker_that_is_killed_as_it_starts_is_started_once_more() -> None:
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(job())], now=0.0)
    effects = supervisor.exited("killed by SIGKILL", "", now=1.0)
    assert of_kind(effects, Spawn)
    [lost] = of_kind(effects, WorkerLost)
    assert isinstance(lost, WorkerLost)
    assert lost.restarting
    assert not of_kind(supervisor.exited("killed by SIGKILL", "", now=2.0), Spawn)
    assert supervisor.is_idle


@pytest.mark.parametrize("greeting", [hello(catalog="another"), hello(protocol=99)])
def test_a_worker_of_another_revision_is_refused(greeting: Hello) -> None:
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(job())], now=0.0)
    effects = supervisor.feed(greeting, now=1.0)
    [banner] = of_kind(effects, Banner)
    assert isinstance(banner, Banner)
    assert "same revision" in banner.text
    assert supervisor.exited("exit code 0", "", now=2.0) == []
    assert supervisor.is_idle


def test_a_busy_device_stops_the_queue_with_one_banner() -> None:
    supervisor = started(job(1), job(2))
    supervisor.feed(Bye("Another Roofscope is measuring on it.", restart=False, is_busy=True), now=2.0)
    effects = supervisor.exited("exit code 1", "", now=2.1)
    assert of_kind(effects, Banner) == [Banner("Another Roofscope is measuring on it.", is_busy=True)]
    assert recorded(effects) == []
    assert not of_kind(effects, Spawn)
    assert supervisor.is_idle


def test_only_a_complete_probe_may_be_cached() -> None:
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Probe("p", "cpu")], now=0.0)
    supervisor.feed(hello(), now=1.0)
    assert of_kind(supervisor.feed(TaskDone("p"), now=2.0), CeilingsComplete) == [CeilingsComplete("cpu")]

    supervisor.submit([Probe("p", "cpu")], now=3.0)
    supervisor.stop(now=4.0)
    assert not of_kind(supervisor.feed(TaskDone("p"), now=5.0), CeilingsComplete)


def test_tasks_given_while_a_worker_goes_wait_for_the_next_one() -> None:
    supervisor = started(job())
    for implementation in (EAGER, TRITON, CUDA):
        supervisor.feed(OutcomeReady("job-1", implementation, MEASURED), now=2.0)
    supervisor.feed(TaskDone("job-1"), now=2.0)
    supervisor.close()
    assert not any(isinstance(effect, Spawn) for effect in supervisor.submit([Run(job(2))], now=3.0))
    effects = supervisor.exited("exit code 0", "", now=4.0)
    assert any(isinstance(effect, Spawn) for effect in effects)
    assert Run(job(2)) in sent(supervisor.feed(hello(), now=5.0))


def test_a_worker_closed_in_mid_run_is_neither_blamed_nor_replaced() -> None:
    supervisor = started(job(), job(2))
    supervisor.close()
    assert supervisor.exited("killed by SIGKILL", "", now=2.0) == []
    assert supervisor.is_idle


def test_a_worker_closed_while_it_starts_is_given_nothing_when_it_says_hello() -> None:
    supervisor = Supervisor([], "catalog")
    supervisor.submit([Run(job())], now=0.0)
    supervisor.close()
    assert supervisor.feed(hello(), now=1.0) == []
    assert supervisor.exited("exit code 0", "", now=2.0) == []
    assert supervisor.is_idle


def test_a_worker_that_was_killed_is_given_nothing_more() -> None:
    """Its answer came just then; its end would be held against the next task."""
    supervisor = started(job(1, (EAGER,)), job(2, (TRITON,)))
    supervisor.feed(StageStarted("job-1", Stage.VERIFY, 10.0, EAGER), now=2.0)
    assert of_kind(supervisor.tick(now=20.0), Kill)
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=20.1)
    assert not sent(supervisor.feed(TaskDone("job-1"), now=20.2))
    effects = supervisor.exited("killed by SIGKILL", "", now=20.3)
    assert recorded(effects) == []
    assert sent(supervisor.feed(hello(), now=21.0)) == [Run(job(2, (TRITON,)))]


def test_the_last_words_of_a_worker_that_has_ended_bring_it_no_task() -> None:
    supervisor = started(job(1, (EAGER,)), job(2, (TRITON,)))
    supervisor.ended()
    supervisor.feed(OutcomeReady("job-1", EAGER, MEASURED), now=2.0)
    assert not sent(supervisor.feed(TaskDone("job-1"), now=2.1))
    assert recorded(supervisor.exited("exit code 1", "", now=2.2)) == []
    assert sent(supervisor.feed(hello(), now=3.0)) == [Run(job(2, (TRITON,)))]
