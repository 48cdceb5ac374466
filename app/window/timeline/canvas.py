"""The timeline itself: lanes of slices on an axis of time, moved by keys, wheel and pointer."""

from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget

from roofscope.app.presentation.formatting import time_text
from roofscope.app.presentation.timeline.hits import Chosen
from roofscope.app.presentation.timeline.moments import moment_near
from roofscope.app.presentation.timeline.placing import Placed, placed, row_at, strip_of
from roofscope.app.presentation.timeline.state import Area, Timeline
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.timeline.geometry import heights_of, plot_of
from roofscope.app.window.timeline.gutter import GutterPainter, menu_of
from roofscope.app.window.timeline.keys import is_ours, obey
from roofscope.app.window.timeline.moments import paint_moments
from roofscope.app.window.timeline.painting import TimelinePainter
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.results.marks import Moment
from roofscope.profiling.traces.columns import NONE

_DRAG = 4.0  # pixels before a press is a drag
_WHEEL_ZOOM = 1.0015  # a unit of the wheel, of which a notch has 120


class TimelineCanvas(QWidget):
    """``changed`` follows everything that the user sees; ``scroll_to`` and ``content_height`` serve a bar."""

    changed = Signal()
    searched = Signal()  # the user asks for the search field
    stepped = Signal(int)  # to the next hit, or the one before
    mark_wanted = Signal(float)  # at a time of the timeline
    mark_dropped = Signal(object)  # Moment

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.timeline = Timeline((), self.follow)
        self._rows: tuple[Placed, ...] = ()
        self._known_rows: Sequence[object] = ()
        self._scrolled = 0.0
        self._pressed: QPointF | None = None
        self._dragged_from = QPointF()
        self._pans = self._is_dragging = False
        self._set_looks(theme)
        self.setAccessibleName("Timeline of the trace")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_timeline(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self._scrolled = 0.0
        self.follow()

    def set_theme(self, theme: Theme) -> None:
        self._set_looks(theme)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(640, 160)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 60)

    @property
    def plot(self) -> QRectF:
        return plot_of(self, self._metrics)

    @property
    def content_height(self) -> float:
        return self._rows[-1].top + self._rows[-1].height if self._rows else 0.0

    @property
    def scrolled(self) -> float:
        return self._scrolled

    def scroll_to(self, top: float) -> None:
        most = max(0.0, self.content_height - self.plot.height())
        self._scrolled = min(max(top, 0.0), most)
        self.update()
        self.changed.emit()

    def rows(self) -> tuple[Placed, ...]:
        """As they stand on the canvas, from the top of the plot."""
        return tuple(replace(row, top=row.top - self._scrolled) for row in self._rows)

    def ask_search(self) -> None:
        self.searched.emit()

    def step(self, by: int) -> None:
        self.stepped.emit(by)

    def ask_mark(self) -> None:
        """Where the chosen slice begins, else under the pointer, else in the middle."""
        timeline, place = self.timeline, QPointF(self.mapFromGlobal(self.cursor().pos()))
        time = self._time_at(place.x()) if self.underMouse() else timeline.view.begin + timeline.view.span / 2
        self.mark_wanted.emit(timeline.span_of(timeline.chosen)[0] if timeline.chosen else time)

    def bring_chosen(self) -> None:
        """Scroll to the row of the chosen slice."""
        chosen = self.timeline.chosen
        strip = strip_of(self._rows, self.timeline, chosen) if chosen else None
        if strip is None:
            return
        top, height = strip
        if top < self._scrolled or top + height > self._scrolled + self.plot.height():
            self.scroll_to(top - self.plot.height() / 3)

    def slice_at(self, place: QPointF) -> Chosen | None:
        row = self._row_under(place)
        if row is None or row.row.lane == NONE:
            return None
        level = row.row.levels[row.level_at(place.y() - self.plot.top())]
        shift = self.timeline.tracks[row.row.track].shift
        pixel = self.timeline.view.span / self.plot.width()
        time = self._time_at(place.x()) - shift
        found = next((at for at in map(level.at, (time, time + pixel, time - pixel)) if at != NONE), NONE)
        return None if found == NONE else Chosen(row.row.track, int(level.index[found]))

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        plot, rows = self.plot, self.rows()
        painter.fillRect(self.rect(), QColor(self._theme.surface))
        self._painter.ruler(painter, self.timeline, plot)
        self._painter.rows(painter, self.timeline, rows, plot)
        self._painter.area(painter, self.timeline, rows, plot)
        flags = self._painter.flags(self.timeline, plot)
        paint_moments(painter, flags, plot, self._theme, self._metrics.ascent() + 2)
        self._gutter.paint(painter, rows, plot)
        self._painter.arrows(painter, self.timeline, rows, plot)
        if self.hasFocus():
            painter.setPen(QColor(self._theme.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and is_ours(event):
            event.accept()  # F fits the trace here, and not the chart
            return True
        if event.type() is QEvent.Type.ToolTip:
            self._show_tip(QPointF(self.mapFromGlobal(self.cursor().pos())))
            return True
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._set_looks(self._theme)
            self._place()

    def resizeEvent(self, event: QEvent) -> None:  # type: ignore[override]
        del event
        self.scroll_to(self._scrolled)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not obey(event, self):
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Up and down by itself, sideways with Shift, nearer with Ctrl, as other trace viewers have it."""
        turn = event.angleDelta()
        keys = event.modifiers()
        if keys & Qt.KeyboardModifier.ControlModifier:
            factor = _WHEEL_ZOOM ** -(turn.y() or turn.x())
            self.timeline.look(self.timeline.view.zoomed(factor, self._time_at(event.position().x())))
        elif keys & Qt.KeyboardModifier.ShiftModifier or turn.x():
            self.timeline.look(self.timeline.view.panned(-(turn.x() or turn.y()) / 120 * 0.1))
        else:
            self.scroll_to(self._scrolled - turn.y() / 120 * 3 * heights_of(self._metrics).level)
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        left = event.button() is Qt.MouseButton.LeftButton
        if not left and event.button() is not Qt.MouseButton.MiddleButton:
            return
        if left and event.position().x() < self.plot.left():
            self._press_gutter(event.position())
            return
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._pressed = self._dragged_from = event.position()
        self._pans, self._is_dragging = shift or not left, False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        moved = event.position() - self._pressed
        self._is_dragging = self._is_dragging or max(abs(moved.x()), abs(moved.y())) > _DRAG
        if not self._is_dragging:
            return
        if self._pans:
            step = event.position() - self._dragged_from
            self._dragged_from = event.position()
            self.timeline.look(self.timeline.view.panned(-step.x() / self.plot.width()))
            self.scroll_to(self._scrolled - step.y())
        else:
            self.timeline.choose_area(self._area_to(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None and not self._is_dragging and not self._pans:
            self.timeline.choose(self.slice_at(event.position()))
        self._pressed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if found := self.slice_at(event.position()):
            self.timeline.choose(found)
            self.timeline.fit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        row = self._row_under(QPointF(event.pos()))
        menu: QMenu = menu_of(self, self.timeline, row.row if row else None)
        self._offer_mark(menu, event.pos().x())
        menu.popup(event.globalPos())

    def _offer_mark(self, menu: QMenu, x: float) -> None:
        if x < self.plot.left() or not self.timeline.tracks:
            return
        near = self._moment_near(x)
        if near is not None:
            menu.addAction("Remove mark").triggered.connect(lambda: self.mark_dropped.emit(near))
        time = self._time_at(x)
        menu.addAction("Mark this time...").triggered.connect(lambda: self.mark_wanted.emit(time))

    def _moment_near(self, x: float) -> Moment | None:
        plot = self.plot
        return moment_near(self.timeline.moments, self.timeline.view, plot.width(), x - plot.left())

    def choose_row_area(self, row: Placed) -> None:
        """All that is seen of a row."""
        view = self.timeline.view
        self.timeline.choose_area(Area(view.begin, view.end, frozenset({row.row.key})))

    def _press_gutter(self, place: QPointF) -> None:
        if (row := self._row_under(place)) and (row.row.is_heading or len(row.row.levels) > 1):
            self.timeline.arrange(self.timeline.arrangement.with_collapsed(row.row.key))

    def _area_to(self, place: QPointF) -> Area:
        assert self._pressed is not None
        begin, end = sorted((self._time_at(self._pressed.x()), self._time_at(place.x())))
        low, high = sorted((self._pressed.y() - self.plot.top(), place.y() - self.plot.top()))
        keys = {row.row.key for row in self.rows() if row.top < high and row.top + row.height > low}
        view = self.timeline.view
        return Area(max(begin, view.begin), min(end, view.end), frozenset(keys))

    def _row_under(self, place: QPointF) -> Placed | None:
        if place.y() < self.plot.top():
            return None
        return row_at(self.rows(), place.y() - self.plot.top())

    def _time_at(self, x: float) -> float:
        return self.timeline.view.time_at(x - self.plot.left(), self.plot.width())

    def _show_tip(self, place: QPointF) -> None:
        row, text = self._row_under(place), ""
        if place.x() < self.plot.left():
            text = row.row.title if row else ""
        elif marked := self._moment_near(place.x()):
            text = marked.note or "A mark of yours"
        elif found := self.slice_at(place):
            begin, end = self.timeline.span_of(found)
            name = self.timeline.tracks[found.track].trace.name_of(found.slice)
            text = f"{name}\n{time_text((end - begin) * 1e-9)}"
        elif row and row.row.is_idle:
            at = row.row.levels[0].at(self._time_at(place.x()) - self.timeline.tracks[row.row.track].shift)
            if at != NONE:
                gap = int(row.row.levels[0].end[at] - row.row.levels[0].start[at])
                text = f"Idle for {time_text(gap * 1e-9)}"
        if text:
            QToolTip.showText(self.mapToGlobal(place.toPoint()), tip_text(text), self)
        else:
            QToolTip.hideText()

    def follow(self) -> None:
        """The timeline that is shown has changed."""
        if self._known_rows is not self.timeline.rows:
            self._place()
        self.update()
        self.changed.emit()

    def _place(self) -> None:
        self._known_rows = self.timeline.rows
        self._rows = placed(self.timeline.rows, heights_of(self._metrics))
        most = max(0.0, self.content_height - self.plot.height())
        self._scrolled = min(self._scrolled, most)

    def _set_looks(self, theme: Theme) -> None:
        self._theme = theme
        self._metrics = QFontMetricsF(self.font())
        self._painter = TimelinePainter(theme, self._metrics)
        self._gutter = GutterPainter(theme, self._metrics)
