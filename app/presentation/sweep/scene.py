"""What a sweep shows: one line an implementation over the sizes of a kernel, in values and not yet in pixels.

No Qt: the pane of the window, the SVG and the table on the terminal are all made from one scene.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from roofscope.app.presentation.examined import examined_sentence
from roofscope.app.presentation.roofline.scene import Range
from roofscope.app.presentation.sweep.axis import SweepAxis, axes_of
from roofscope.app.presentation.sweep.empty import FILTERED_TEXT, why_empty
from roofscope.app.presentation.sweep.known import among, shown_points, size_counts
from roofscope.app.presentation.sweep.marks import Mark, cache_mark, level_marks
from roofscope.app.presentation.sweep.quantity import Quantity, Reader, default_baseline
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.verdict import flags_of
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Dtype, Provider, size_text
from roofscope.profiling.results.outcome import Cancelled, Examined, Failed, Skipped
from roofscope.profiling.results.session import Point, Session

_MOST_LINEAR, _MOST_LOG = 1.3, 10.0  # times the highest dot, that the intervals may have of the axis
_ROOM_ABOVE = 1.18  # of a level: a plot of 140 pixels has a line of text above it
_STYLES = 4  # ways to draw lines of one provider; the fifth looks as the first


class SweepDot(Struct, frozen=True):
    """A measured size; the interval's ends are the value itself where none is known."""

    number: int
    x: float
    y: float
    low: float
    high: float
    sizes: str
    warnings: tuple[str, ...]  # why the time is not to be relied on

    @property
    def warns(self) -> bool:
        return bool(self.warnings)


class SweepGap(Struct, frozen=True):
    """A size at which an implementation has no time, and why."""

    number: int
    x: float
    sizes: str
    reason: str


class SweepLine(Struct, frozen=True):
    """One implementation, its sizes in order. ``style`` tells lines of one provider apart."""

    key: str  # its stem, and the regime where that is not burst
    label: str
    provider: Provider
    style: int
    dots: tuple[SweepDot, ...]
    gaps: tuple[SweepGap, ...]

    @property
    def pieces(self) -> tuple[tuple[SweepDot, ...], ...]:
        """The dots that a line joins: it is broken where a size between two has no time."""
        breaks = [gap.x for gap in self.gaps]
        found: list[list[SweepDot]] = []
        for dot in self.dots:
            last = found[-1][-1] if found else None
            if last is None or any(last.x < x < dot.x for x in breaks):
                found.append([])
            found[-1].append(dot)
        return tuple(map(tuple, found))


class SweepOptions(Struct, frozen=True):
    """What is asked for; None takes what suits the session best."""

    kernel: str | None = None
    dtype: Dtype | None = None
    quantity: Quantity = Quantity.BANDWIDTH
    axis: SweepAxis | None = None
    baseline: str | None = None  # a stem
    hidden: frozenset[str] = frozenset()  # keys of lines that the legend has switched off
    is_log: bool | None = None  # the y axis
    selected: int | None = None
    shown: frozenset[int] | None = None  # numbers of the points that the window's filter keeps; None: all


class SweepScene(Struct, frozen=True):
    """One picture. Without sizes to join, ``why_empty`` says why and how to get them."""

    kernel: str
    dtype: Dtype | None
    quantity: Quantity
    axis: SweepAxis | None
    axes: tuple[SweepAxis, ...]
    baseline: str
    baselines: tuple[str, ...]
    lines: tuple[SweepLine, ...]  # those that are shown
    legend: tuple[SweepLine, ...]  # also those switched off
    x_range: Range  # log10
    y_range: Range  # log10 where ``is_log``
    is_log: bool
    levels: tuple[Mark, ...]  # along y: a ceiling, 1x, 100 %
    cache: Mark | None  # along x: where the working set is as large as the last-level cache
    cache_note: str
    left_out: tuple[str, ...]  # labels of implementations without a time at any of these sizes
    other_count: int  # points of other sizes than the axis fixes
    selected: int | None = None
    why_empty: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(line.dots for line in self.lines)

    @property
    def is_cut(self) -> bool:
        """Whether an interval reaches beyond the range of the y axis."""
        ends = (end for line in self.lines for dot in line.dots for end in (dot.low, dot.high))
        return any(
            not (end > 0 and self.y_range.low <= self.y_place(end) <= self.y_range.high)
            for end in ends
            if end > 0 or self.is_log
        )

    def y_place(self, value: float) -> float:
        """A value on the y axis as its range has it."""
        return math.log10(value) if self.is_log else value

    def dot(self, number: int | None) -> tuple[SweepLine, SweepDot] | None:
        return next(((line, dot) for line in self.lines for dot in line.dots if dot.number == number), None)


def sweeps_of(session: Session, least: int = 2) -> tuple[SweepOptions, ...]:
    """Each kernel and dtype with several sizes, ``least`` or more, on the device that is shown."""
    return tuple(
        SweepOptions(kernel, dtype)
        for kernel, by_dtype in size_counts(shown_points(session)).items()
        for dtype, count in by_dtype.items()
        if count >= least
    )


def build_sweep(session: Session, options: SweepOptions = SweepOptions()) -> SweepScene:  # noqa: B008 - frozen
    """The sweep of one kernel and dtype on the device shown; the best there is where none is named."""
    of_device = shown_points(session)
    kernel, dtype = _chosen(among(of_device, options.shown) or of_device, options)
    points = [
        point
        for point in of_device
        if (point.job.workload.kernel, point.job.workload.dtype) == (kernel, dtype)
    ]
    measured = [point for point in points if point.measured]
    axes = axes_of([point.job for point in measured])
    axis = options.axis if options.axis in axes else (axes[0] if axes else None)
    baselines = tuple(dict.fromkeys(point.implementation.name for point in measured))
    baseline = options.baseline if options.baseline in baselines else default_baseline(measured)
    kept = among(points, options.shown)
    on_axis = [point for point in kept if axis and axis.holds(point.job) and axis.value(point.job) > 0]
    reader = Reader(options.quantity, session, points, baseline)
    legend, left_out = _lines(on_axis, axis, reader, session)
    lines = tuple(line for line in legend if line.key not in options.hidden)
    is_log = _is_log(options)
    jobs = [point.job for point in on_axis]
    cache, note = cache_mark(session.device, axis, jobs) if axis else (None, "")
    levels = level_marks(options.quantity, session, [point for point in on_axis if point.measured])
    y_range = _y_range(lines, is_log, levels)
    return SweepScene(
        kernel=kernel,
        dtype=dtype,
        quantity=options.quantity,
        axis=axis,
        axes=axes,
        baseline=baseline,
        baselines=baselines,
        lines=lines,
        legend=legend,
        x_range=_x_range(legend),
        y_range=y_range,
        is_log=is_log,
        levels=tuple(mark for mark in levels if _shows(mark, y_range, is_log)),
        cache=cache,
        cache_note=note,
        left_out=left_out,
        other_count=_measured_count(kept) - _measured_count(on_axis) if axis else 0,
        selected=options.selected,
        why_empty=FILTERED_TEXT
        if points and not kept
        else why_empty(session, kernel, axes, bool(legend), options.quantity),
    )


def _measured_count(points: Iterable[Point]) -> int:
    return sum(point.measured is not None for point in points)


def _chosen(points: Iterable[Point], options: SweepOptions) -> tuple[str, Dtype | None]:
    counts = size_counts(points)
    several = (kernel for kernel, by_dtype in counts.items() if max(by_dtype.values()) > 1)
    best = next(several, next(iter(counts), ""))
    kernel = options.kernel if options.kernel in counts else best
    sizes = counts.get(kernel, {})
    return kernel, options.dtype if options.dtype in sizes else max(
        sizes, key=sizes.__getitem__, default=None
    )


def _lines(
    points: Sequence[Point], axis: SweepAxis | None, reader: Reader, session: Session
) -> tuple[tuple[SweepLine, ...], tuple[str, ...]]:
    """A line for each implementation with a time; the labels of the others."""
    newest: dict[str, dict[str, Point]] = {}
    for point in points:
        newest.setdefault(_key(point), {})[size_text(point.job.workload.sizes)] = point
    found: list[SweepLine] = []
    left_out: list[str] = []
    styles: dict[Provider, int] = {}
    for key, by_size in sorted(newest.items(), key=lambda item: _order(item[1].values())):
        assert axis is not None
        ordered = sorted(by_size.values(), key=lambda point: (axis.value(point.job), point.number))
        dots = tuple(dot for point in ordered if (dot := _dot(point, axis, reader, session)))
        first = ordered[0]
        label = _label(first)
        if not dots:
            left_out.append(label)
            continue
        provider = first.implementation.provider
        style = styles[provider] = styles.get(provider, -1) + 1
        gaps = tuple(
            SweepGap(
                point.number, axis.value(point.job), size_text(point.job.workload.sizes), why_no_time(point)
            )
            for point in ordered
            if point.measured is None
        )
        found.append(SweepLine(key, label, provider, style % _STYLES, dots, gaps))
    return tuple(found), tuple(left_out)


def _key(point: Point) -> str:
    name = f"{point.implementation.name}{point.job.workload.fill_label}"
    return name if point.job.regime is Regime.BURST else f"{name} {point.job.regime}"


def _label(point: Point) -> str:
    label = f"{point.implementation.label}{point.job.workload.fill_label}"
    return label if point.job.regime is Regime.BURST else f"{label}, {point.job.regime}"


def _order(points: Iterable[Point]) -> tuple[int, int]:
    first = next(iter(points))
    return list(Provider).index(first.implementation.provider), first.number


def _dot(point: Point, axis: SweepAxis, reader: Reader, session: Session) -> SweepDot | None:
    reading = reader.read(point)
    if reading is None:
        return None
    warnings = tuple(str(flag) for flag in flags_of(point, session) if flag in WARNING_FLAGS)
    place = axis.value(point.job)
    sizes = size_text(point.job.workload.sizes)
    return SweepDot(point.number, place, reading.value, reading.low, reading.high, sizes, warnings)


def why_no_time(point: Point) -> str:
    """One sentence for a size without a time."""
    match point.outcome:
        case Skipped(kind=kind, message=message) | Failed(kind=kind, message=message):
            return f"{str(kind).capitalize()}: {message}"
        case Cancelled(message=message):
            return message
        case Examined() as examined:
            return examined_sentence(examined, point.job.workload)
        case _:
            return ""


def _is_log(options: SweepOptions) -> bool:
    """Times span decades, and ratios are symmetric on a log axis; rates and shares are read from 0 on."""
    if options.is_log is not None:
        return options.is_log
    return options.quantity in (Quantity.TIME, Quantity.SPEED_UP)


def _x_range(lines: Sequence[SweepLine]) -> Range:
    places = [math.log10(spot.x) for line in lines for spot in (*line.dots, *line.gaps)]
    if not places:
        return Range(0.0, 1.0)
    low, high = min(places), max(places)
    room = max(0.03 * (high - low), 0.05)
    return Range(low - room, high + room)


def _y_range(lines: Sequence[SweepLine], is_log: bool, levels: Sequence[Mark]) -> Range:
    """From nothing on where it is linear; a level that is near the highest dot is brought in."""
    values = [end for line in lines for dot in line.dots for end in (dot.low, dot.y, dot.high) if end > 0]
    if not values:
        return Range(0.0, 1.0)
    low, high = min(values), max(dot.y for line in lines for dot in line.dots)
    most = _MOST_LOG if is_log else _MOST_LINEAR
    high = max(high, min(max(values), most * high))  # a wide interval of one dot does not flatten the rest
    level = max((mark.value for mark in levels if mark.value < 1.6 * high), default=0.0)
    if not is_log:
        # Above the highest line its name has room, off the curves that it bounds.
        return Range(0.0, max(1.08 * high, _ROOM_ABOVE * level))
    high = max(high, level)
    low = max(low, min(dot.y for line in lines for dot in line.dots) / _MOST_LOG)
    room = max(0.05 * math.log10(high / low), 0.05)
    return Range(math.log10(low) - room, math.log10(high) + room)


def _shows(mark: Mark, y_range: Range, is_log: bool) -> bool:
    place = (math.log10(mark.value) if mark.value > 0 else -math.inf) if is_log else mark.value
    return y_range.low < place <= y_range.high
