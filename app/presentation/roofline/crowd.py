"""The points of a chart in columns, so that a picture of 10,000 of them is made between two frames."""

from collections.abc import Container, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.points import ChartPoint, PointGroup, StripPoint, grouped
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Point
from roofscope.profiling.roofline.roofline import Bound

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
Extent = tuple[float, float] | None  # the least and the greatest; None of nothing
AnyPoint = ChartPoint | StripPoint
Value = TypeVar("Value", bound=object)
PROVIDERS = tuple(Provider)
_NONE = float("nan")
_X, _Y, _Y_LOW, _Y_HIGH, _SHARE, _SHARE_LOW, _SHARE_HIGH = range(7)  # columns of figures
_NUMBER, _SERIES, _REGIME, _BOUND, _PROVIDER, _WARNS = range(6)  # columns of codes


class Arranged(NamedTuple):
    """The newest points of each series and the earlier ones, each in the order of drawing."""

    newest: tuple[ChartPoint, ...]  # the worst first: where markers lie over each other, the best is on top
    earlier: tuple[ChartPoint, ...]
    strip: tuple[StripPoint, ...]
    groups: tuple[PointGroup, ...]
    bounds: frozenset[Bound]  # pipes that bound the newest
    kernels: tuple[str, ...]  # of newest and strip
    warned_count: int  # of newest and strip
    unroofed_count: int  # left out of the newest: with the share of its roof as its height one has no place
    columns: "Columns"


class Columns:
    """What is painted for each point and then for each earlier one, in the order of drawing."""

    def __init__(
        self,
        places: NDArray[np.float64],
        spans: NDArray[np.float64],
        providers: NDArray[np.int64],
        warns: NDArray[np.bool_],
    ) -> None:
        self.places = places  # in the plane, a row each
        self.spans = spans  # from the lower end of the interval to the upper
        self.providers = providers  # places among the providers
        self.warns = warns

    @classmethod
    def of(cls, points: Sequence[ChartPoint]) -> "Columns":
        """From the points themselves."""
        places = np.array([(point.x, point.y) for point in points], dtype=np.float64).reshape(-1, 2)
        return cls(
            places,
            np.array([point.y_high - point.y_low for point in points], dtype=np.float64),
            np.array([PROVIDERS.index(point.provider) for point in points], dtype=np.int64),
            np.array([point.warns for point in points], dtype=np.bool_),
        )


class _Table:
    """Rows of numbers to which more are added."""

    def __init__(self, dtype: type[Any], width: int) -> None:
        self._rows: NDArray[Any] = np.empty((64, width), dtype=dtype)
        self._count = 0

    def add(self, row: Sequence[float]) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)))
        self._rows[self._count] = row
        self._count += 1

    @property
    def rows(self) -> NDArray[Any]:
        return self._rows[: self._count]

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
        self.untimed: list[Point] | None = None  # of the session, where somebody gathers those as well
        self._of_roof: list[AnyPoint] = []  # the same, as high as their share of their roofs
        self._index_of: dict[int, int] = {}
        self._arranged: tuple[bool, Mask, Arranged] | None = None
        self.arranged_count = 0  # a test watches it
        self._figures, self._codes = _Table(np.float64, 7), _Table(np.int64, 6)
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
        bound = point.bound if isinstance(point, ChartPoint) else None
        self._figures.add(_figures(point))
        series = self._series.code((point.kernel, point.series, point.dtype, point.sizes, point.regime))
        regime = self._regimes.code(point.regime)
        provider = PROVIDERS.index(point.provider)
        codes = (point.number, series, regime, self._bounds.code(bound), provider, int(point.warns))
        self._codes.add(codes)

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
        return self._bounds_of(np.flatnonzero(chosen))

    def _bounds_of(self, chosen: Indices) -> set[Bound]:
        found = self._bounds.values(self._codes.column(_BOUND)[chosen])
        return {bound for bound in found if bound is not None}

    def providers(self, chosen: Mask) -> set[Provider]:
        return {PROVIDERS[code] for code in np.unique(self._codes.column(_PROVIDER)[chosen]).tolist()}

    def extents(self, chosen: Mask) -> tuple[Extent, Extent, Extent]:
        """Of intensity, rate and the upper ends of shares of the roof, in the chart's coordinates."""
        x, y, share = (_extent(self._figures.column(which)[chosen]) for which in (_X, _Y, _SHARE_HIGH))
        return x, y, share

    def arranged(self, shown: Mask, *, of_roof: bool) -> Arranged:
        """Those shown; as long as they are the same, they come in the same tuples."""
        if self._arranged and self._arranged[0] is of_roof and np.array_equal(self._arranged[1], shown):
            return self._arranged[2]
        found = self._arrange(shown, of_roof=of_roof)
        self._arranged = of_roof, shown, found
        return found

    def columns_of(self, points: Sequence[ChartPoint], earlier: Sequence[ChartPoint]) -> Columns:
        """Of those that were arranged last without asking each point; of others from the points."""
        last = self._arranged[2] if self._arranged else None
        if last and last.newest is points and last.earlier is earlier:
            return last.columns
        return Columns.of((*points, *earlier))

    def _arrange(self, shown: Mask, *, of_roof: bool) -> Arranged:
        self.arranged_count += 1
        newest, earlier = self._newest_and_earlier(np.flatnonzero(shown))
        is_placed = ~np.isnan(self._figures.column(_X))
        placed = newest[is_placed[newest]]
        ranks = np.nan_to_num(self._figures.column(_SHARE)[placed])
        placed = placed[np.lexsort((self._codes.column(_NUMBER)[placed], ranks))]
        lying, earlier = newest[~is_placed[newest]], earlier[is_placed[earlier]]
        unroofed_count = 0
        if of_roof:
            has_roof = ~np.isnan(self._figures.column(_SHARE))
            unroofed_count = int((~has_roof[placed]).sum())
            placed, earlier = placed[has_roof[placed]], earlier[has_roof[earlier]]
        points = self._heights(of_roof=of_roof)
        drawn = cast("tuple[ChartPoint, ...]", _picked(points, placed))
        strip = cast("tuple[StripPoint, ...]", _picked(points, lying))
        return Arranged(
            newest=drawn,
            earlier=cast("tuple[ChartPoint, ...]", _picked(points, earlier)),
            strip=strip,
            groups=grouped(drawn),
            bounds=frozenset(self._bounds_of(placed)),
            kernels=tuple(dict.fromkeys(point.kernel for point in (*drawn, *strip))),
            warned_count=int(self._codes.column(_WARNS)[np.concatenate((placed, lying))].sum()),
            unroofed_count=unroofed_count,
            columns=self._columns(np.concatenate((placed, earlier)), of_roof=of_roof),
        )

    def _columns(self, chosen: Indices, *, of_roof: bool) -> Columns:
        x, y, low, high, share, share_low, share_high = self._figures.rows[chosen].T
        if of_roof:
            y, low, high = share, share_low, share_high
        codes = self._codes.rows[chosen]
        return Columns(
            np.stack((x, y), axis=1), high - low, codes[:, _PROVIDER], codes[:, _WARNS].astype(np.bool_)
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


def _figures(point: AnyPoint) -> tuple[float, ...]:
    if not isinstance(point, ChartPoint):
        return (_NONE,) * 7  # no intensity, and so no place on the chart
    shares = (point.fraction, point.fraction_low, point.fraction_high)
    known = (_NONE if share is None else share for share in shares)
    return (point.x, point.y, point.y_low, point.y_high, *known)


def _picked(points: Sequence[AnyPoint], chosen: Indices) -> tuple[AnyPoint, ...]:
    return tuple(points[index] for index in chosen.tolist())


def _extent(values: NDArray[Any]) -> Extent:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else None
