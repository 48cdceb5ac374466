"""Which kernels, dtypes and how many sizes a session has, on the device that is shown."""

from collections.abc import Sequence

from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Point, Session


def kernels_of(session: Session) -> dict[str, tuple[Dtype, ...]]:
    """Kernels with a measured point, each with its dtypes; those with several sizes first."""
    counts = size_counts(session)
    by_sizes = sorted(counts, key=lambda kernel: max(counts[kernel].values()) < 2)
    return {kernel: tuple(dtype for dtype in Dtype if dtype in counts[kernel]) for kernel in by_sizes}


def size_counts(session: Session) -> dict[str, dict[Dtype, int]]:
    """Measured sizes of the device that is shown, by kernel and dtype."""
    found: dict[str, dict[Dtype, set[tuple[int, ...]]]] = {}
    for point in shown_points(session):
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
