"""Which kernels, dtypes and how many sizes a session has, on the device that is shown."""

from collections.abc import Iterable, Sequence

from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Point, Session


def kernels_of(session: Session, numbers: frozenset[int] | None = None) -> dict[str, tuple[Dtype, ...]]:
    """Kernels with a measured point, each with its dtypes; those with several sizes first.

    Of the points with these numbers only; None takes all.
    """
    counts = size_counts(among(shown_points(session), numbers))
    by_sizes = sorted(counts, key=lambda kernel: max(counts[kernel].values()) < 2)
    return {kernel: tuple(dtype for dtype in Dtype if dtype in counts[kernel]) for kernel in by_sizes}


def size_counts(points: Iterable[Point]) -> dict[str, dict[Dtype, int]]:
    """Measured sizes, by kernel and dtype."""
    found: dict[str, dict[Dtype, set[tuple[int, ...]]]] = {}
    for point in points:
        if point.measured:
            workload = point.job.workload
            sizes = found.setdefault(workload.kernel, {}).setdefault(workload.dtype, set())
            sizes.add(tuple(workload.sizes.values()))
    return {
        kernel: {dtype: len(sizes) for dtype, sizes in by_dtype.items()} for kernel, by_dtype in found.items()
    }


def shown_points(session: Session) -> Sequence[Point]:
    """Those of the device whose ceilings are shown."""
    if len(session.devices) < 2:
        return session.points
    return [point for point in session.points if session.is_shown(point)]


def among(points: Sequence[Point], numbers: frozenset[int] | None) -> Sequence[Point]:
    """Those with these numbers; None for all."""
    return points if numbers is None else [point for point in points if point.number in numbers]
