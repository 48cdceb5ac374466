"""Lines across a sweep: the cache's size along x, a ceiling or 1x along y."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from roofscope.app.presentation.formatting import memory_text
from roofscope.app.presentation.sweep.axis import Along, SweepAxis
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.verdict_text import ceiling_text
from roofscope.profiling.analysis.verdict import MEASURED_IN
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Ceiling


class Mark(Struct, frozen=True):
    """A line at a value of one axis, with its name; "" where a tick says it."""

    value: float
    label: str


def cache_mark(device: Device | None, axis: SweepAxis, jobs: Iterable[Job]) -> tuple[Mark | None, str]:
    """Where a call's bytes are as many as the last-level cache holds; else a note on which side all are."""
    cache_bytes = device.last_level_cache_bytes if device else None
    if not device or not cache_bytes:
        return None, ""
    name = f"{'L2' if device.kind is DeviceKind.CUDA else 'L3'} {memory_text(cache_bytes)}"
    curve = sorted({axis.value(job): job.work.byte_count for job in jobs if job.work.byte_count > 0}.items())
    if not curve:
        return None, ""
    if axis.along is Along.BYTES and not axis.is_size:
        curve = [(place, round(place)) for place, _ in curve]
    sizes = [byte_count for _, byte_count in curve]
    if max(sizes) <= cache_bytes:
        return None, f"All sizes fit the {name}."
    if min(sizes) > cache_bytes:
        return None, f"All sizes exceed the {name}."
    for (x1, bytes1), (x2, bytes2) in pairwise(curve):
        if bytes1 <= cache_bytes < bytes2:
            share = math.log(cache_bytes / bytes1) / math.log(bytes2 / bytes1)
            return Mark(math.exp(math.log(x1) + share * math.log(x2 / x1)), name), ""
    return None, ""


def level_marks(quantity: Quantity, session: Session, points: Sequence[Point]) -> list[Mark]:
    """What the y values are to be held against: their ceilings, or 1."""
    match quantity:
        case Quantity.TIME:
            return []
        case Quantity.SPEED_UP:
            return [Mark(1.0, "")]
        case Quantity.OF_ROOF:
            return [Mark(1.0, "the roof")]
        case _:
            found = {_ceiling(quantity, session, point) for point in _one_a_workload(points)}
            return [Mark(ceiling.value, ceiling_text(ceiling)) for ceiling in found if ceiling]


def _one_a_workload(points: Sequence[Point]) -> Iterable[Point]:
    return {
        f"{point.job.workload.size_label} {point.job.regime} {point.origin}": point for point in points
    }.values()


def _ceiling(quantity: Quantity, session: Session, point: Point) -> Ceiling | None:
    roofline, measured = session.roofline_of(point), MEASURED_IN[point.job.regime]
    if quantity is Quantity.BANDWIDTH:
        return roofline.memory_ceiling(point.job.work, measured)
    bound = session.bound_of(point)
    return roofline.best(bound, measured) if bound else None
