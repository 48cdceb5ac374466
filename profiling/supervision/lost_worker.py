"""What becomes of the implementations of a job whose worker was lost."""

from collections.abc import Sequence

import msgspec

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Failed, FailureKind, Stage
from roofscope.profiling.supervision.protocol import Run


def failure_of_lost_worker(
    run: Run, implementation: Implementation, stage: Stage, timed_out: bool, description: str, log_tail: str
) -> Failed:
    """What the implementation whose turn it was failed of. ``description``: such as "killed by SIGKILL"."""
    where = implementation.title
    at = f"at {run.job.workload.size_label}"
    if timed_out:
        return Failed(
            FailureKind.TIMEOUT,
            stage,
            f"{where} did not finish its {stage} stage in time {at}; the worker was restarted.",
            log_tail,
        )
    return Failed(
        FailureKind.WORKER_LOST,
        stage,
        f"The worker was lost ({description}) in the {stage} stage of {where} {at}; it was restarted.",
        log_tail,
    )


def one_run_each(run: Run, left: Sequence[Implementation]) -> list[Run]:
    """A run for each of those that were measured in turn: whoever loses the worker again is then known."""
    return [Run(msgspec.structs.replace(run.job, implementations=(one,))) for one in left]
