"""That work was derived and not stated: a reader of rates and shares must know it."""

from collections.abc import Iterable

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.session import Point

_MOST_NAMES = 6


def derived_text(points: Iterable[Point]) -> str:
    """``Derived from the reference, not stated by a person: FLOPs and bytes of add.py.``, or ""."""
    names = list(dict.fromkeys(point.job.workload.kernel for point in points if point.job.work.is_derived))
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    listed = one_line(", ".join(names[:_MOST_NAMES]))
    return f"Derived from the reference, not stated by a person: FLOPs and bytes of {listed}{more}."
