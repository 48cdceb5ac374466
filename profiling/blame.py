"""What becomes of the implementation in whose turn the worker was lost."""

from profiling.outcome import Failed, FailureKind, Stage
from profiling.protocol import Run
from profiling.spec import Implementation


def blame(
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
