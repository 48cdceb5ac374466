"""Points that are measured once more: with the files as they are now, on the device that they belong to."""

from collections.abc import Iterable, Sequence

import msgspec

from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.grid import Setting, with_settings
from roofscope.profiling.planning.plan import Job, PlanError, next_job_number, planned_again
from roofscope.profiling.planning.spec import Work, Workload
from roofscope.profiling.results.outcome import Failed, SkipKind, Skipped
from roofscope.profiling.results.session import Point, Session


class CannotRetry(Exception):
    """None of the points can be measured again; the text is one sentence for the user."""


def is_paused(point: Point) -> bool:
    """Whether its implementation cost a worker, or was left out because it had."""
    match point.outcome:
        case Failed(kind=kind):
            return kind.pauses
        case Skipped(kind=kind):
            return kind is SkipKind.PAUSED
        case _:
            return False


def retry_jobs(
    session: Session,
    points: Iterable[Point],
    catalog: Catalog,
    devices: Sequence[Device],
    number: int | None = None,
) -> tuple[Job, ...]:
    """A job for each workload of the points; ``number`` is one that no job of the session has.

    Raises CannotRetry where a device is not here, an implementation no longer among the kernels, or a
    workload none that its kernel takes by now.
    """
    first = number or next_job_number(session.jobs)
    jobs: dict[tuple[object, ...], Job] = {}
    for point in points:
        device = session.own_device(devices, point)
        if device is None:
            raise CannotRetry(f"{point.label} was measured on another machine; run it here first.")
        kernel = catalog.kernel(point.implementation.kernel)
        found = kernel.implementation(point.implementation.stem) if kernel else None
        if kernel is None or found is None:
            raise CannotRetry(f"{point.implementation.key} is no longer among the kernels.")
        old = point.job
        key = (device.id, old.workload.key, old.quality, old.regime)
        job = jobs.get(key) or msgspec.structs.replace(
            old,
            id=f"job-{first + len(jobs)}",
            device=device.id,
            work=_work_now(kernel, old.workload),
            implementations=(),
        )
        found = found.like(point.implementation)
        if found not in job.implementations:
            jobs[key] = msgspec.structs.replace(job, implementations=(*job.implementations, found))
    return tuple(jobs.values())


def variant_job(
    session: Session,
    point: Point,
    catalog: Catalog,
    devices: Sequence[Device],
    settings: Sequence[Setting],
    number: int | None = None,
) -> Job:
    """A job for the point's implementation on its workload, in these values of its parameters.

    Raises CannotRetry as ``retry_jobs`` does, and PlanError where its file declares no such values now.
    """
    (job,) = retry_jobs(session, [point], catalog, devices, number)
    return with_settings([job], settings)[0]


def _work_now(kernel: Kernel, workload: Workload) -> Work:
    """By the spec as it is now: that of the old job may be what its edit has corrected."""
    try:
        return planned_again(kernel, workload)
    except PlanError as error:
        raise CannotRetry(str(error)) from None
