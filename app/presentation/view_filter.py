"""Which points of a session are looked at: one filter for chart, table and library."""

from collections.abc import Callable, Collection, Iterable

from msgspec import Struct
from msgspec.structs import replace

from roofscope.app.presentation.formatting import counted_text
from roofscope.app.presentation.search_text import is_found, search_text
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point, Session

_NO_MARK = Mark()


class ViewFilter(Struct, frozen=True):
    """Nothing chosen (None or "") lets everything through; what is chosen must all hold.

    ``hidden`` are providers that the legend has switched off, ``put_aside`` the numbers of points
    hidden one by one. ``text`` is what the user typed: each word must be somewhere in the names, sizes,
    data type, state or verdict.
    """

    kernels: frozenset[str] | None = None
    dtype: Dtype | None = None
    hidden: frozenset[Provider] = frozenset()
    put_aside: frozenset[int] = frozenset()
    text: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it lets every point through."""
        return self == ViewFilter() or (self == ViewFilter(text=self.text) and not self.text.strip())

    def keeps(self, point: Point, text_of: Callable[[Point], str]) -> bool:
        """``text_of`` gives what the words are looked for in; it is asked only where words were typed."""
        workload = point.job.workload
        return (
            self.keeps_names(point.implementation)
            and point.number not in self.put_aside
            and self.dtype in (None, workload.dtype)
            and (not self.text.strip() or is_found(self.text.lower().split(), text_of(point)))
        )

    def keeps_names(self, implementation: Implementation) -> bool:
        """Whether kernel and provider are among those chosen."""
        return (
            self.kernels is None or implementation.kernel in self.kernels
        ) and implementation.provider not in self.hidden

    def numbers(self, session: Session) -> frozenset[int] | None:
        """The points of a session that it keeps; None for all."""
        if self.is_open:
            return None

        def text_of(point: Point) -> str:
            return search_text(point, verdict(point, session), session.marks.get(point.number, _NO_MARK))

        return frozenset(point.number for point in session.points if self.keeps(point, text_of))

    # One step of the user each

    def without(self, numbers: Iterable[int]) -> "ViewFilter":
        return replace(self, put_aside=self.put_aside.union(numbers))

    def toggled(self, provider: Provider) -> "ViewFilter":
        return replace(self, hidden=self.hidden ^ {provider})

    def only(self, provider: Provider, among: Iterable[Provider]) -> "ViewFilter":
        """Hides the others; where they are hidden already, shows all again."""
        others = frozenset(among) - {provider}
        return replace(self, hidden=frozenset() if others and others == self.hidden else others)

    def isolating(self, kernel: str | None) -> "ViewFilter":
        return replace(self, kernels=None if kernel is None else frozenset({kernel}))

    def with_kernel(self, kernel: str) -> "ViewFilter":
        """One kernel more among those isolated; one of them that is asked for again leaves, but the last."""
        kernels = (self.kernels or frozenset[str]()) ^ {kernel}
        return replace(self, kernels=kernels or self.kernels)


def hidden_implementations(
    view: ViewFilter, points: Collection[Point], kept: frozenset[int] | None
) -> Callable[[Implementation], bool]:
    """Tells of which implementations nothing is shown: none of its points, or it could have none."""
    # Thousands of points share some hundred implementations, whose names take longer than a set of them.
    measured = {made.declared.key for made in {point.implementation for point in points}}
    kept_points = (point for point in points if kept is None or point.number in kept)
    shown = {made.declared.key for made in {point.implementation for point in kept_points}}

    def is_hidden(implementation: Implementation) -> bool:
        if implementation.key in measured:
            return implementation.key not in shown
        return not view.keeps_names(implementation)

    return is_hidden


def shown_text(shown: int, total: int) -> str:
    """``83 of 293 points``, or ``293 points`` where all are shown."""
    return counted_text(total, "point") if shown == total else f"{shown} of {counted_text(total, 'point')}"


def kernels_text(view: ViewFilter) -> str:
    """Which kernels are isolated: the name of one, the number of several, "" for all."""
    kernels = view.kernels or frozenset[str]()
    return next(iter(kernels), "") if len(kernels) < 2 else f"{len(kernels)} kernels"
