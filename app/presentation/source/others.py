"""What a point's source can be compared with: other implementations, and earlier edits of itself."""

from collections.abc import Iterable

from msgspec import Struct

from roofscope.profiling.results.session import Point, Session


class Other(Struct, frozen=True):
    """A point whose source may stand beside another one's."""

    label: str
    point: Point


def others_of(session: Session, point: Point) -> tuple[Other, ...]:
    """Edits of itself first, the newest before the older; then other implementations of its kernel.

    Of each the newest point on the same workload counts, else the newest of all.
    """
    mine = point.implementation
    edits: dict[str, Point] = {}
    alternatives: dict[str, Point] = {}
    of_kernel = (one for one in session.points if one.implementation.kernel == mine.kernel)
    for found in _nearest_last(of_kernel, point):
        if found.implementation.key != mine.key:
            alternatives[found.implementation.key] = found
        elif found.implementation.source_hash != mine.source_hash:
            edits[found.implementation.source_hash] = found
    by_age = sorted(edits.values(), key=lambda one: -one.number)
    return (
        *(Other(f"{_age(one, point)} edit, {_when(one)}", one) for one in by_age),
        *(Other(one.implementation.label, one) for one in alternatives.values()),
    )


def _nearest_last(points: Iterable[Point], point: Point) -> list[Point]:
    return sorted(points, key=lambda one: (one.job.workload == point.job.workload, one.number))


def _age(one: Point, point: Point) -> str:
    return "earlier" if one.number < point.number else "later"


def _when(point: Point) -> str:
    return point.recorded_at.replace("T", " ")[:16] + " UTC"
