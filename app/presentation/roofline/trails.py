"""Where an implementation has been: a line from each earlier version or value to the newest."""

from collections.abc import Iterable, Sequence

from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.profiling.results.session import Session

Trail = tuple[ChartPoint, ...]

TRAIL_WIDTH = 1.4  # pixels
TRAIL_DASH = (2.0, 2.0)  # of that width


def trails_of(
    session: Session, newest: Sequence[ChartPoint], older: Iterable[ChartPoint]
) -> tuple[Trail, ...]:
    """In the order measured. Points of one variant measured again have none: they lie where it lies."""
    older = list(older)
    if not older:
        return ()
    made = {
        point.number: (point.implementation.source_hash, point.implementation.values)
        for point in session.points
    }
    ends = {_key(point): point for point in newest}
    trails: dict[tuple[object, ...], list[ChartPoint]] = {}
    for point in sorted(older, key=lambda point: point.number):
        if _key(point) in ends:
            trails.setdefault(_key(point), []).append(point)
    found = ((*trail, ends[key]) for key, trail in trails.items())
    return tuple(trail for trail in found if len({made.get(point.number) for point in trail}) > 1)


def _key(point: ChartPoint) -> tuple[object, ...]:
    return point.kernel, point.series, point.dtype, point.sizes, point.regime
