"""What a run has not finished yet: a new worker goes on with it, with the files as they are then."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.plan import Job, PlanError, planned_again
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
            left[job_id] = Run(replace(job, implementations=rest))
        return list(left.values())


def planned_now(runs: Iterable[Run], catalog: Catalog, first_id: int) -> tuple[list[Run], list[str]]:
    """The same by the specs and files of this catalog, and sentences on what cannot be done any more.

    What has changed gets a job of its own: it is not what the earlier part of its job was timed beside.
    """
    found: list[Run] = []
    said: list[str] = []
    for run in runs:
        job, kernel = run.job, catalog.kernel(run.job.workload.kernel)
        if kernel is None:
            said.append(f"{printable(job.workload.kernel)} is no longer among the kernels.")
            continue
        here = {one.key: kernel.implementation(one.stem) for one in job.implementations}
        said += [
            f"{printable(key)} is no longer among the kernels." for key, one in here.items() if one is None
        ]
        implementations = tuple(one for one in here.values() if one)
        try:
            work = planned_again(kernel, job.workload)
        except PlanError as error:
            said.append(str(error))
            continue
        now = replace(job, implementations=implementations, work=work)
        if now != job and implementations:
            now = replace(now, id=f"job-{first_id + len(found)}")
        if implementations:
            found.append(Run(now))
    return found, list(dict.fromkeys(said))
