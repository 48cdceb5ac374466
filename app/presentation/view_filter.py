"""Which points of a session are looked at: one filter for chart, table and library."""

from msgspec import Struct

from roofscope.app.presentation.search_text import implementation_text, is_found, workload_text
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.session import Point


class ViewFilter(Struct, frozen=True):
    """Nothing chosen (None or "") lets everything through; what is chosen must all hold.

    ``hidden`` are providers that the legend has switched off. ``text`` is what the user typed: every word of
    it must be somewhere in the point's names, sizes or data type.
    """

    kernels: frozenset[str] | None = None
    dtype: Dtype | None = None
    hidden: frozenset[Provider] = frozenset()
    text: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it lets every point through."""
        return self == ViewFilter()

    def keeps(self, point: Point) -> bool:
        workload = point.job.workload
        return (
            (self.kernels is None or workload.kernel in self.kernels)
            and self.dtype in (None, workload.dtype)
            and point.implementation.provider not in self.hidden
            and (not self.text or is_found(self.text.lower().split(), _search_text(point)))
        )


def _search_text(point: Point) -> str:
    return f"{implementation_text(point.implementation)} {workload_text(point.job.workload)}"
