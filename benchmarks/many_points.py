"""Points enough for a large session, out of recorded ones."""

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from roofscope.profiling.planning.plan import Job
    from roofscope.profiling.results.outcome import TimeStats
    from roofscope.profiling.results.session import Point


def replicas(points: "tuple[Point, ...]", wanted: int) -> "Iterator[Point]":
    """The points again and again, each time as other workloads: sizes and times grow from copy to copy."""
    numbers = count(1)
    for copy in count():
        jobs: dict[str, Job] = {}
        for point in points:
            if (number := next(numbers)) > wanted:
                return
            if point.job.id not in jobs:
                jobs[point.job.id] = _varied(point.job, copy)
            outcome = point.outcome
            if point.measured:
                outcome = msgspec.structs.replace(point.measured, time=_slower(point.measured.time, copy))
            yield msgspec.structs.replace(point, number=number, job=jobs[point.job.id], outcome=outcome)


def _slower(found: "TimeStats", copy: int) -> "TimeStats":
    factor = 1 + copy * 0.013
    low_s, high_s = (bound and bound * factor for bound in (found.low_s, found.high_s))
    return msgspec.structs.replace(found, median_s=found.median_s * factor, low_s=low_s, high_s=high_s)


def _varied(job: "Job", copy: int) -> "Job":
    if not copy:
        return job
    workload = job.workload
    first = next(iter(workload.sizes))
    sizes = {**workload.sizes, first: workload.sizes[first] + copy}
    workload = msgspec.structs.replace(workload, sizes=sizes)
    number = job.id.rpartition("-")[2]
    return msgspec.structs.replace(job, id=f"job-{copy * 1000 + int(number)}", workload=workload)
