"""What a run has not finished yet: a new worker goes on with it."""

from collections.abc import Iterable, Sequence

import msgspec

from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Cancelled, Outcome
from roofscope.profiling.supervision.protocol import Run, Task


class Unfinished:
    """The implementations of one run that have no outcome yet, by their jobs."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._jobs = {
            (task.job.id, implementation.key): task.job
            for task in tasks
            if isinstance(task, Run)
            for implementation in task.job.implementations
        }

    @property
    def jobs(self) -> Sequence[Job]:
        return tuple(self._jobs.values())

    def note(self, job: Job, implementation: Implementation, outcome: Outcome) -> None:
        """What was cancelled stays unfinished."""
        if not isinstance(outcome, Cancelled):
            self._jobs.pop((job.id, implementation.key), None)

    def runs(self) -> list[Run]:
        """A run for each job with something left, of what is left."""
        left: dict[str, Run] = {}
        for (job_id, _), job in self._jobs.items():
            rest = tuple(one for one in job.implementations if (job_id, one.key) in self._jobs)
            left[job_id] = Run(msgspec.structs.replace(job, implementations=rest))
        return list(left.values())
