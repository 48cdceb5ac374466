"""The points of a chart in columns, so that a picture of 10,000 of them is made between two frames."""

from collections.abc import Container, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.points import ChartPoint, StripPoint
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.roofline.roofline import Bound

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
Extent = tuple[float, float] | None  # the least and the greatest; None of nothing
AnyPoint = ChartPoint | StripPoint
Value = TypeVar("Value", bound=object)
_NONE = float("nan")
_X, _Y, _SHARE, _SHARE_HIGH = range(4)  # columns of figures
_NUMBER, _SERIES, _REGIME, _BOUND = range(4)  # columns of codes


class Arranged(NamedTuple):
    """The newest points of each series and the earlier ones, each in the order of drawing."""

    newest: tuple[ChartPoint, ...]  # the worst first: where markers lie over each other, the best is on top
    earlier: tuple[ChartPoint, ...]
    strip: tuple[StripPoint, ...]


class _Table:
    """Rows of numbers to which more are added."""

    def __init__(self, dtype: type[Any]) -> None:
        self._rows: NDArray[Any] = np.empty((64, 4), dtype=dtype)
        self._count = 0

    def add(self, row: Sequence[float]) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)))
        self._rows[self._count] = row
        self._count += 1

    def column(self, column: int) -> NDArray[Any]:
        return self._rows[: self._count, column]


class _Codes(Generic[Value]):
    """A number for each of a few values."""

    def __init__(self) -> None:
        self._code_of: dict[Value, int] = {}

    def code(self, value: Value) -> int:
        return self._code_of.setdefault(value, len(self._code_of))

    def values(self, codes: NDArray[Any]) -> set[Value]:
        known = list(self._code_of)
        return {known[code] for code in np.unique(codes).tolist()}


class Crowd:
    """Grows by a point at a time; what is asked of all of them is asked of columns.

    A series are the points of one implementation on one workload in one regime: of it the newest counts.
    """

    def __init__(self, points: Iterable[AnyPoint] = ()) -> None:
        self.points: list[AnyPoint] = []
        self._of_roof: list[AnyPoint] = []  # the same, as high as their share of their roofs
        self._index_of: dict[int, int] = {}
        self._arranged: tuple[bool, Mask, Arranged] | None = None
        self.arranged_count = 0  # a test watches it
        self._figures, self._codes = _Table(np.float64), _Table(np.int64)
        self._series = _Codes[tuple[str, str, str, str, str]]()
        self._regimes = _Codes[Regime]()
        self._bounds = _Codes[Bound | None]()
        for point in points:
            self.add(point)

    def __len__(self) -> int:
        return len(self.points)

    def add(self, point: AnyPoint) -> None:
        self._index_of[point.number] = len(self.points)
        self.points.append(point)
        bound = None
        if isinstance(point, ChartPoint):
            bound, share, high = point.bound, point.fraction, point.fraction_high
            shares = (_NONE if share is None else share, _NONE if high is None else high)
            self._figures.add((point.x, point.y, *shares))
        else:
            self._figures.add((_NONE, _NONE, _NONE, _NONE))  # no intensity, and so no place on the chart
        series = self._series.code((point.kernel, point.name, point.dtype, point.sizes, point.regime))
        regime = self._regimes.code(point.regime)
        self._codes.add((point.number, series, regime, self._bounds.code(bound)))

    def _heights(self, *, of_roof: bool) -> list[AnyPoint]:
        """The points, as high as their rate or as their share of their roof."""
        if not of_roof:
            return self.points
        for point in self.points[len(self._of_roof) :]:
            self._of_roof.append(point.of_roof() if isinstance(point, ChartPoint) else point)
        return self._of_roof

    def among(self, numbers: Container[int] | None) -> Mask:
        """Which points have one of these numbers; None: all."""
        if numbers is None:
            return np.ones(len(self), dtype=np.bool_)
        found = (number in numbers for number in self._codes.column(_NUMBER).tolist())
        return np.fromiter(found, dtype=np.bool_, count=len(self))

    def regimes(self, chosen: Mask) -> set[Regime]:
        return self._regimes.values(self._codes.column(_REGIME)[chosen])

    def bounds(self, chosen: Mask) -> set[Bound]:
        """The pipes that bound the points chosen."""
        found = self._bounds.values(self._codes.column(_BOUND)[chosen])
        return {bound for bound in found if bound is not None}

    def extents(self, chosen: Mask) -> tuple[Extent, Extent, Extent]:
        """Of intensity, rate and the upper ends of shares of the roof, in the chart's coordinates."""
        x, y, share = (_extent(self._figures.column(which)[chosen]) for which in (_X, _Y, _SHARE_HIGH))
        return x, y, share

    def arranged(self, shown: Mask, *, of_roof: bool) -> Arranged:
        """Those shown; as long as they are the same, they come in the same tuples."""
        if self._arranged and self._arranged[0] is of_roof and np.array_equal(self._arranged[1], shown):
            return self._arranged[2]
        found = self._arrange(shown, self._heights(of_roof=of_roof))
        self._arranged = of_roof, shown, found
        return found

    def _arrange(self, shown: Mask, heights: Sequence[AnyPoint]) -> Arranged:
        self.arranged_count += 1
        newest, earlier = self._newest_and_earlier(np.flatnonzero(shown))
        is_placed = ~np.isnan(self._figures.column(_X))
        placed = newest[is_placed[newest]]
        ranks = np.nan_to_num(self._figures.column(_SHARE)[placed])
        placed = placed[np.lexsort((self._codes.column(_NUMBER)[placed], ranks))]
        lying = newest[~is_placed[newest]]
        return Arranged(
            cast("tuple[ChartPoint, ...]", _picked(heights, placed)),
            cast("tuple[ChartPoint, ...]", _picked(heights, earlier[is_placed[earlier]])),
            cast("tuple[StripPoint, ...]", _picked(heights, lying)),
        )

    def _newest_and_earlier(self, shown: Indices) -> tuple[Indices, Indices]:
        """The last of each series, in the order of the first; the others in the order in which they ended."""
        series = self._codes.column(_SERIES)[shown]
        by_series = np.argsort(series, kind="stable")
        inner, series = shown[by_series], series[by_series]
        is_last = np.diff(series, append=-1) != 0
        is_first = np.diff(series, prepend=-1) != 0
        newest = inner[is_last][np.argsort(inner[is_first], kind="stable")]
        successors = np.roll(inner, -1)[~is_last]
        return newest, inner[~is_last][np.argsort(successors, kind="stable")]


def _picked(points: Sequence[AnyPoint], chosen: Indices) -> tuple[AnyPoint, ...]:
    return tuple(points[index] for index in chosen.tolist())


def _extent(values: NDArray[Any]) -> Extent:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else None
