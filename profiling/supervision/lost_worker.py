"""What becomes of the task in flight when its worker is lost."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Failed, FailureKind, Stage
from roofscope.profiling.supervision.protocol import Bye, Run, StageStarted, Task

_OUTSIDE = " Interpreted, an access outside of its tensor does that: a debug run (--debug) names its line."


class WorkerEnd(Struct, frozen=True):
    """How a worker's process ended."""

    description: str  # such as "killed by SIGKILL"
    log_tail: str
    silent_s: float | None  # it was ended because it was silent for so long
    bye: Bye | None  # what it said of its end, if anything


class Loss(Struct, frozen=True):
    """What the end of a worker means for the task in flight."""

    message: str  # one sentence for the user
    failed: tuple[Implementation, Failed] | None = None
    again: tuple[Run, ...] = ()  # the next worker's first tasks


def loss_of(
    task: Task | None, left: Sequence[Implementation], stage: StageStarted | None, end: WorkerEnd
) -> Loss:
    """The implementation in flight failed; the rest of its job, ``left`` without an outcome, is run again.

    Of those measured in turn nobody knows which it was, so each is run by itself. A worker that announced its
    end had outcomes to give before it: the job goes on. Without any, the same job would end each new worker.
    Where the last one begun has its outcome, as while its generated code is read, none of the rest did it.
    """
    if not isinstance(task, Run) or not left:
        return Loss(end.bye.reason if end.bye else f"The worker was lost ({end.description}).")
    if end.bye and len(left) < len(task.job.implementations):
        return Loss(end.bye.reason, again=(_run_of(task, left),))
    if not end.bye and stage is not None and stage.stage is Stage.MEASURE and len(left) > 1:
        message = f"The worker {_why(end)} with {len(left)} measured in turn; each is run by itself now."
        return Loss(message, again=tuple(_run_of(task, [one]) for one in left))
    in_turn = stage.implementation if stage else None
    if not end.bye and in_turn is not None and in_turn in task.job.implementations and in_turn not in left:
        rest = left[0].title if len(left) == 1 else f"the other {len(left)} of its job"
        message = f"The worker {_why(end)} after {in_turn.title} had its result; a new one takes {rest}."
        return Loss(message, again=(_run_of(task, left),))
    failed = in_turn if in_turn is not None and in_turn in left else left[0]
    outcome = _failure(task, failed, stage, end)
    rest = [other for other in left if other != failed]
    return Loss(outcome.message, (failed, outcome), (_run_of(task, rest),) if rest else ())


def _why(end: WorkerEnd) -> str:
    if end.silent_s is not None:
        return f"did not finish in time (no answer for {end.silent_s:.0f} s)"
    return f"was lost ({end.description})"


def _failure(run: Run, implementation: Implementation, last: StageStarted | None, end: WorkerEnd) -> Failed:
    stage = last.stage if last else Stage.BUILD
    if end.bye:
        return Failed(FailureKind.DEVICE_FAULT, stage, end.bye.reason, end.log_tail)
    where = implementation.title
    at = f"at {run.job.workload.size_label}"
    if end.silent_s is not None:
        return Failed(
            FailureKind.TIMEOUT,
            stage,
            f"{where} did not finish its {stage} stage in time {at} "
            f"({f'{last.detail}: ' if last and last.detail else ''}no answer for {end.silent_s:.0f} s); "
            "the worker was restarted.",
            end.log_tail,
        )
    return Failed(
        FailureKind.WORKER_LOST,
        stage,
        f"The worker was lost ({end.description}) in the {stage} stage of {where} {at}; it was restarted."
        + (_OUTSIDE if _is_interpreted(run, implementation, stage) else ""),
        end.log_tail,
    )


def _is_interpreted(run: Run, implementation: Implementation, stage: Stage) -> bool:
    is_examined = bool(run.job.architecture)
    return is_examined and implementation.provider.facts.is_interpreted and stage is Stage.VERIFY


def _run_of(run: Run, implementations: Sequence[Implementation]) -> Run:
    """The same job with these implementations only."""
    return Run(msgspec.structs.replace(run.job, implementations=tuple(implementations)))
