"""Edited implementations as jobs: each at the workloads that it was measured at, in quick quality."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.formula import FormulaError
from roofscope.profiling.planning.plan import Job, Quality
from roofscope.profiling.planning.spec import Implementation, KernelSpec, Work, Workload


class EditedJobs(Struct, frozen=True):
    """``unplanned``: of a kernel that none of the jobs measured. ``said``: sentences on what cannot be."""

    jobs: tuple[Job, ...] = ()
    unplanned: tuple[Implementation, ...] = ()
    said: tuple[str, ...] = ()


def edited_jobs(
    edited: Iterable[Implementation],
    before: Sequence[Job],
    catalog: Catalog,
    device: str,
    first_id: int,
    *,
    as_planned: bool = False,
) -> EditedJobs:
    """Measure these where the jobs of before measured them, or else other versions of their kernel.

    Those that share a workload share a job, which is timed in turn. The work is by the spec as it is now.
    ``as_planned``: in the quality of those jobs.
    """
    groups: dict[tuple[object, ...], tuple[Job, list[Implementation]]] = {}
    unplanned: list[Implementation] = []
    for implementation in edited:
        of_kernel = [job for job in before if job.workload.kernel == implementation.kernel]
        if not of_kernel:
            unplanned.append(implementation)
        own = [(job, variant) for job in of_kernel for variant in _measured(implementation, job)]
        for job, variant in own or [(job, implementation) for job in of_kernel[-1:]]:
            members = groups.setdefault(_key(job), (job, []))[1]
            if variant not in members:
                members.append(variant)
    jobs: list[Job] = []
    said: list[str] = []
    for job, members in groups.values():
        kernel = catalog.kernel(job.workload.kernel)
        if kernel is None:
            continue
        work = _work(kernel.spec, job.workload)
        if isinstance(work, str):
            said.append(work)
            continue
        number = first_id + len(jobs)
        jobs.append(
            msgspec.structs.replace(
                job,
                id=f"job-{number}",
                device=device,
                work=work,
                implementations=tuple(members),
                quality=job.quality if as_planned else Quality.QUICK,
            )
        )
    return EditedJobs(tuple(jobs), tuple(unplanned), tuple(dict.fromkeys(said)))


def _measured(implementation: Implementation, job: Job) -> list[Implementation]:
    """In the values that the job measured it with, as far as its file still declares them."""
    return [implementation.like(one) for one in job.implementations if one.stem == implementation.stem]


def _key(job: Job) -> tuple[object, ...]:
    return job.workload.key, job.regime


def _work(spec: KernelSpec, workload: Workload) -> Work | str:
    """What it comes to by the spec as it is now, or why it cannot be measured any more, as a sentence."""
    if workload.dtype not in spec.dtypes:
        return f"{spec.name} is no longer for {workload.dtype}; choose another type and run it."
    try:
        if problem := spec.problem_with(workload.sizes):
            return problem
        return spec.work_at(workload.sizes, workload.dtype)
    except (FormulaError, KeyError) as error:
        return f"{spec.name} cannot be planned at these sizes any more: {error}"
