"""Draws the rows of a timeline: boxes, columns of what is too narrow for one, names, arrows, the axis."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPainterPath, QPen

from roofscope.app.presentation.formatting import time_text
from roofscope.app.presentation.timeline.colours import fill
from roofscope.app.presentation.timeline.hits import Chosen
from roofscope.app.presentation.timeline.levels import Level
from roofscope.app.presentation.timeline.placing import Placed, strip_of
from roofscope.app.presentation.timeline.rows import Track
from roofscope.app.presentation.timeline.seen import Seen, seen
from roofscope.app.presentation.timeline.state import Area, Timeline
from roofscope.app.presentation.timeline.viewport import ticks
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.timeline.moments import flags_of
from roofscope.profiling.traces.columns import NONE, Category, Indices

_INSIDE = 3.0  # pixels between the edge of a box and its text
_LEAST_TEXT = 24.0  # pixels of a box that has room for some letters
_TICK_APART = 90.0  # pixels
_MOST_ARROWS = 200
_HEAD = 5.0  # pixels of an arrow's head
_FAINT = 70  # alpha of what a search does not mean


class TimelinePainter:
    """Keeps the colours and widths of names from frame to frame; made once for a theme and a font."""

    def __init__(self, theme: Theme, metrics: QFontMetricsF) -> None:
        self._theme = theme
        self._metrics = metrics
        self._letter = metrics.averageCharWidth()
        self._timeline: Timeline | None = None  # whose colours are kept
        self._colours: dict[
            int, NDArray[np.uint32]
        ] = {}  # of a track's names and categories; 0 is not yet found
        self._widths: dict[str, float] = {}

    def rows(self, painter: QPainter, timeline: Timeline, rows: Sequence[Placed], plot: QRectF) -> None:
        """``rows`` are placed from the plot's top, already scrolled; only those are drawn that are seen."""
        painter.save()
        painter.setClipRect(plot)
        painter.translate(plot.left(), plot.top())
        for row in rows:
            if row.top + row.height < 0 or row.top > plot.height():
                continue
            if row.row.is_heading:
                continue
            height = row.height / max(1, row.row.level_count)
            for place, level in enumerate(row.row.levels[: row.row.level_count]):
                top = row.top + place * height
                if top + height >= 0 and top <= plot.height():
                    self._level(painter, timeline, row, level, QRectF(0, top, plot.width(), height - 1))
        painter.restore()

    def arrows(self, painter: QPainter, timeline: Timeline, rows: Sequence[Placed], plot: QRectF) -> None:
        """From what led to the chosen slice, and to what it led."""
        if timeline.chosen is None:
            return
        painter.save()
        painter.setClipRect(plot)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        pairs = [(source, timeline.chosen) for source in timeline.sources()[:_MOST_ARROWS]]
        pairs += [(timeline.chosen, target) for target in timeline.targets()[:_MOST_ARROWS]]
        for source, target in pairs:
            begins, ends = (_corner(timeline, rows, plot, one) for one in (source, target))
            if begins is not None and ends is not None:
                _arrow(painter, begins, ends)
        painter.restore()

    def ruler(self, painter: QPainter, timeline: Timeline, plot: QRectF) -> None:
        theme = self._theme
        painter.fillRect(QRectF(0, 0, plot.right(), plot.top()), QColor(theme.surface))
        taken = [self._area_label(timeline, plot), *(flag for flag, _ in self.flags(timeline, plot))]
        for time, text in ticks(timeline.view, max(1, int(plot.width() / _TICK_APART))):
            x = plot.left() + timeline.view.x_of(time, plot.width())
            painter.setPen(QColor(theme.grid))
            painter.drawLine(QPointF(x, plot.top() - 4), QPointF(x, plot.bottom()))
            width = self._metrics.horizontalAdvance(text)
            left = min(max(x - width / 2, plot.left()), plot.right() - width - 2)
            box = QRectF(left, 0, width, plot.top())
            if not any(map(box.intersects, taken)):
                painter.setPen(QColor(theme.text_muted))
                painter.drawText(QPointF(left, self._metrics.ascent() + 2), text)

    def flags(self, timeline: Timeline, plot: QRectF) -> list[tuple[QRectF, str]]:
        return flags_of(timeline.moments, timeline.view, plot, self._metrics)

    def area(self, painter: QPainter, timeline: Timeline, rows: Sequence[Placed], plot: QRectF) -> None:
        if timeline.area is None:
            return
        wash = QColor(self._theme.accent)
        wash.setAlpha(45)
        left, right = (
            plot.left() + timeline.view.x_of(time, plot.width())
            for time in (timeline.area.begin, timeline.area.end)
        )
        painter.save()
        painter.setClipRect(plot)
        for row in rows:
            if row.row.key in timeline.area.keys:
                painter.fillRect(QRectF(left, plot.top() + row.top, right - left, row.height), wash)
        painter.setPen(QColor(self._theme.accent))
        for x in (left, right):
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        painter.restore()
        place = self._area_label(timeline, plot)
        painter.setPen(QColor(self._theme.accent))
        painter.drawText(QPointF(place.left(), self._metrics.ascent() + 2), _length(timeline.area))

    def _area_label(self, timeline: Timeline, plot: QRectF) -> QRectF:
        """Where the length of the area stands; ticks keep out of it."""
        if timeline.area is None:
            return QRectF()
        width = self._metrics.horizontalAdvance(_length(timeline.area))
        middle = (timeline.area.begin + timeline.area.end) / 2
        left = plot.left() + timeline.view.x_of(middle, plot.width()) - width / 2
        return QRectF(min(max(left, plot.left()), plot.right() - width), 0, width, plot.top())

    def _level(self, painter: QPainter, timeline: Timeline, row: Placed, level: Level, strip: QRectF) -> None:
        """All without room for a name is one line of pixels, stretched to the level's height."""
        track = row.row.track
        found = seen(level, timeline.tracks[track].shift, timeline.view, max(1, int(strip.width())))
        left = np.maximum(found.left, -1.0)
        right = np.minimum(np.maximum(found.right - 1.0, left + 1.0), strip.width() + 1.0)
        has_text = right - left >= _LEAST_TEXT
        line = np.zeros(max(1, int(strip.width())), np.uint32)
        self._draw_columns(line, timeline, track, level, found)
        colours = self._colours_of(timeline, track, level.index[found.box])
        _draw_boxes(line, left[~has_text], right[~has_text], colours[~has_text])
        if line.any():
            image = QImage(line.tobytes(), len(line), 1, 4 * len(line), QImage.Format.Format_ARGB32)
            painter.drawImage(QRectF(0, strip.top(), len(line), strip.height()), image)
        edges = zip(left[has_text].tolist(), right[has_text].tolist(), strict=True)
        wide = zip(found.box[has_text].tolist(), colours[has_text].tolist(), strict=True)
        for (begin, end), (place, colour) in zip(edges, wide, strict=True):
            box = QRectF(begin, strip.top(), end - begin, strip.height())
            self._box(painter, _text_of(timeline.tracks[track], level, place), box, QColor.fromRgba(colour))
        self._frame_chosen(painter, timeline, track, level, found, strip)

    def _box(self, painter: QPainter, text: str, box: QRectF, colour: QColor) -> None:
        painter.fillRect(box, colour)
        self._text(painter, text, box, colour)

    def _frame_chosen(
        self, painter: QPainter, timeline: Timeline, track: int, level: Level, found: Seen, strip: QRectF
    ) -> None:
        chosen = timeline.chosen
        if chosen is None or chosen.track != track:
            return
        for at in np.flatnonzero(level.index[found.box] == chosen.slice).tolist():
            left, right = max(float(found.left[at]), -1.0), min(float(found.right[at]), strip.width() + 2.0)
            box = QRectF(left, strip.top(), max(right - 1.0 - left, 1.0), strip.height())
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.drawRect(box.adjusted(1, 1, -1, -1))

    def _draw_columns(
        self, line: NDArray[np.uint32], timeline: Timeline, track: int, level: Level, found: Seen
    ) -> None:
        colours = self._colours_of(timeline, track, level.index[found.column])
        alpha = (found.strength * (colours >> 24)).astype(np.uint32)
        line[found.column_x] = (colours & 0xFFFFFF) | (alpha << 24)

    def _colours_of(self, timeline: Timeline, track: int, slices: Indices) -> NDArray[np.uint32]:
        """ARGB of each slice, or of a gap for NONE; those of a name are found when it is first seen."""
        shown = timeline.tracks[track]
        if timeline is not self._timeline:
            self._timeline, self._colours = timeline, {}
        if (table := self._colours.get(track)) is None:
            table = self._colours[track] = np.zeros((len(shown.labels), len(Category)), np.uint32)
        is_gap = slices == NONE
        names, categories = shown.trace.slices.name[slices], shown.trace.slices.category[slices]
        found = table[names, categories]
        if (is_unknown := (found == 0) & ~is_gap).any():
            pairs = zip(names[is_unknown].tolist(), categories[is_unknown].tolist(), strict=True)
            for name, category in set(pairs):
                table[name, category] = QColor(
                    fill(self._theme, Category(category), shown.labels[name])
                ).rgba()
            found = table[names, categories]
        if timeline.hits.is_meant:
            is_faint = ~timeline.hits.is_meant[track][names]
            found = np.where(is_faint, found & 0xFFFFFF | _FAINT << 24, found)
        return np.where(is_gap, QColor(self._theme.grid_major).rgba(), found).astype(np.uint32)

    def _text(self, painter: QPainter, name: str, box: QRectF, colour: QColor) -> None:
        text = self.fitted(name, box.width() - 2 * _INSIDE)
        if not text:
            return
        painter.setPen(QColor(self._theme.text_muted if colour.alpha() == _FAINT else self._theme.text))
        base = box.top() + (box.height() + self._metrics.ascent() - self._metrics.descent()) / 2
        painter.drawText(QPointF(box.left() + _INSIDE, base), text)

    def fitted(self, name: str, room: float) -> str:
        """The name, or its beginning and dots, in so many pixels; "" where there is room for nothing."""
        width = self._widths.get(name)
        if width is None:
            width = self._widths[name] = self._metrics.horizontalAdvance(name)
        if width <= room:
            return name
        letters = int(room / self._letter) - 1
        while letters >= 2:
            text = f"{name[:letters]}…"
            if self._metrics.horizontalAdvance(text) <= room:
                return text
            letters -= 1
        return ""


def _text_of(track: Track, level: Level, place: int) -> str:
    """Of a slice its name, of a gap its length."""
    if (slice_ := int(level.index[place])) == NONE:
        return time_text(int(level.end[place] - level.start[place]) * 1e-9)
    return track.labels[track.trace.slices.name[slice_]]


def _draw_boxes(
    line: NDArray[np.uint32],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    colours: NDArray[np.uint32],
) -> None:
    """Whole pixels of each box, at least one; boxes do not overlap."""
    begin = np.floor(left + 0.5).astype(np.int64)
    lengths = np.maximum(np.floor(right + 0.5).astype(np.int64) - begin, 1)
    first = np.cumsum(lengths) - lengths
    pixels = np.arange(lengths.sum()) + np.repeat(begin - first, lengths)
    is_seen = (pixels >= 0) & (pixels < len(line))
    line[pixels[is_seen]] = np.repeat(colours, lengths)[is_seen]


def _length(area: Area) -> str:
    return time_text((area.end - area.begin) * 1e-9)


def _corner(
    timeline: Timeline, rows: Sequence[Placed], plot: QRectF, chosen: Chosen
) -> tuple[QPointF, QPointF] | None:
    """The left and right end of a slice at half its height; None where its lane is not among the rows."""
    strip = strip_of(rows, timeline, chosen)
    if strip is None:
        return None
    y = plot.top() + strip[0] + strip[1] / 2
    left, right = (plot.left() + timeline.view.x_of(time, plot.width()) for time in timeline.span_of(chosen))
    return QPointF(left, y), QPointF(right, y)


def _arrow(painter: QPainter, source: tuple[QPointF, QPointF], target: tuple[QPointF, QPointF]) -> None:
    """From the begin of the one to the begin of the other: a launch returns before its work begins."""
    begin, end = source[0], target[0]
    reach = max(abs(end.x() - begin.x()) / 2, 12.0)
    path = QPainterPath(begin)
    path.cubicTo(begin + QPointF(reach, 0), end - QPointF(reach, 0), end)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPath(path)
    painter.drawLine(end, end + QPointF(-_HEAD, -_HEAD / 2))
    painter.drawLine(end, end + QPointF(-_HEAD, _HEAD / 2))
