"""A profiler trace belongs to a point: it is taken of the very files and on the very device of the time."""

from collections.abc import Sequence

import msgspec

from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.plan import Job, next_job_number
from roofscope.profiling.results.session import Point, Session


class CannotTrace(Exception):
    """A point cannot be traced; the text is one sentence for the user."""


def trace_job(
    session: Session, point: Point, catalog: Catalog, devices: Sequence[Device], number: int | None = None
) -> Job:
    """What to trace for a point, as a job of its own; ``number`` is one that no job of the session has.

    Raises CannotTrace where the device is not here, or where the files changed since: the trace would show
    another program than the time belongs to.
    """
    device = session.own_device(devices, point)
    if device is None:
        raise CannotTrace(_not_here(session.device_of(point), devices))
    kernel = catalog.kernel(point.implementation.kernel)
    implementation = kernel.implementation(point.implementation.stem) if kernel else None
    if implementation is None:
        raise CannotTrace(
            f"{point.implementation.key} is no longer among the kernels, so it cannot be traced."
        )
    implementation = implementation.like(point.implementation)
    if implementation != point.implementation:
        raise CannotTrace(f"The files of {point.label} changed since it was measured; run it again first.")
    number = number or next_job_number(session.jobs)
    return msgspec.structs.replace(
        point.job, id=f"job-{number}", device=device.id, implementations=(implementation,)
    )


def trace_jobs(
    session: Session,
    points: Sequence[Point],
    catalog: Catalog,
    devices: Sequence[Device],
    number: int | None = None,
) -> tuple[Job, ...]:
    """One for each point, in their order, numbered from ``number``.

    Raises CannotTrace for the first that cannot be traced.
    """
    first = number or next_job_number(session.jobs)
    return tuple(
        trace_job(session, point, catalog, devices, first + place) for place, point in enumerate(points)
    )


def newest_measured(session: Session) -> tuple[Point, ...]:
    """Of each implementation on each workload and device the newest point with a time: one trace each."""
    found: dict[tuple[object, ...], Point] = {}
    for point in session.points:
        if point.measured is not None:
            workload = point.job.workload
            sizes = tuple(sorted(workload.sizes.items()))
            found[point.implementation, workload.kernel, workload.dtype, sizes, point.job.device] = point
    return tuple(found.values())


def why_no_trace(session: Session, devices: Sequence[Device]) -> str:
    """Why no point of the session can be traced on these devices; "" when they can."""
    here = {device.uuid for device in devices}
    if any(device.uuid in here for device in session.devices):
        return ""
    return _not_here(session.device, devices)


def _not_here(device: Device | None, devices: Sequence[Device]) -> str:
    name = device.name_beside(devices) if device else "an unknown device"
    return f"This point was measured on {name}, which is not in this machine; run it here first."
