"""The roofline: every measured point of the session under the machine's own ceilings."""

from collections.abc import Callable

import msgspec
from PySide6.QtCore import QPoint, QPointF, QSize, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from roofscope.app.presentation.roofline.caption import summary
from roofscope.app.presentation.roofline.points import ChartPoint, all_points, chart_point
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, ChartY, build_scene
from roofscope.app.presentation.roofline.strip import strip_of
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.verdict_text import verdict_sentence
from roofscope.app.window.chart.bandwidth_strip import ChartStripView
from roofscope.app.window.chart.files import ChartPicture, copy_chart, png_bytes
from roofscope.app.window.chart.filter_bar import ChartBar
from roofscope.app.window.chart.hover_card import HoverCard
from roofscope.app.window.chart.plot import RooflinePlot
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.results.session import Point
from roofscope.profiling.roofline.roofline import Ceiling

_REST_MS = 80  # labels move only when the view has come to rest
_FRAME_MS = 16  # points that arrive within a frame are drawn together
_NEXT = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}


class RooflineChart(QWidget):
    """Draws the session of a model, and shares one selection with the other panes."""

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        theme: Theme,
        speed_up_of: Callable[[int], SpeedUp | None] = lambda _number: None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._speed_up_of = speed_up_of
        self._model, self._selection, self._theme = model, selection, theme
        self._options = ChartOptions(selected=selection.number)
        self._follows = True  # until the user zooms, the view keeps to the whole roofline
        self._points = all_points(model.session)
        self._are_points_stale = False
        self._is_running = False
        self._scene = build_scene(model.session, self._points, self._options)
        self.bar = ChartBar(theme)
        self.plot = RooflinePlot(theme)
        self.strip = ChartStripView(theme)
        self.card = HoverCard(self.plot.viewport(), theme)
        self._refresh_soon = self._timer(_FRAME_MS, self._refresh)
        self._labels_soon = self._timer(_REST_MS, self.plot.place_labels_now)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.bar)
        column.addWidget(self.plot, 1)
        column.addWidget(self.strip)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAutoFillBackground(True)
        self.setAccessibleName("Roofline chart")
        self._connect()
        self.set_theme(theme)

    @property
    def scene(self) -> ChartScene:
        """What is drawn now."""
        return self._scene

    @property
    def options(self) -> ChartOptions:
        return self._options

    def sizeHint(self) -> QSize:
        return QSize(820, 560)

    def set_theme(self, theme: Theme) -> None:
        """Repaint in other colours, live."""
        self._theme = theme
        palette = self.palette()
        palette.setColor(self.backgroundRole(), theme.surface)
        self.setPalette(palette)
        for part in (self.bar, self.plot, self.strip, self.card):
            part.set_theme(theme)
        self._refresh()

    def set_heading(self, device: str, note: str) -> None:
        """Say whose roofline this is, and in a second line what else must be known of that."""
        self.plot.set_heading(device, note)

    def set_running(self, running: bool) -> None:
        """An empty chart says what to do next, and during a run that there is nothing to do."""
        self._is_running = running
        self.plot.set_running(running)
        self._describe()

    def fit(self) -> None:
        """Show the machine's whole roofline."""
        self._follows = True
        self.plot.fit(self._scene)

    def isolate(self, kernel: str | None) -> None:
        """Show only this kernel; None shows all."""
        self.set_options(msgspec.structs.replace(self._options, kernel=kernel))

    def set_y(self, y: ChartY) -> None:
        """Say what the height of a point is, and show all of it."""
        self._follows = self._follows or y is not self._options.y
        self.set_options(msgspec.structs.replace(self._options, y=y))

    def set_options(self, options: ChartOptions) -> None:
        self._options = msgspec.structs.replace(options, selected=self._selection.number)
        self._refresh()

    def png(self, scale: float = 2.0) -> bytes:
        """The chart as it stands, with title, legend and foot."""
        return png_bytes(self.picture().image(scale))

    def copy_image(self) -> None:
        """Put the chart on the clipboard, as PNG, SVG and CSV."""
        copy_chart(self.picture())

    def picture(self) -> ChartPicture:
        """The chart as it stands, for a file."""
        view = self.plot.view
        size = (max(self.width(), 640), max(self.height(), 480))
        ranges = None if self._follows else (view.x, view.y)
        return ChartPicture(self._model.session, self._options, self._theme.is_dark, size, ranges)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key is Qt.Key.Key_F:
            self.fit()
        elif key is Qt.Key.Key_Escape:
            self._step_back()
        elif key in _NEXT:
            self._select_next(_NEXT[key])
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._menu(QPointF(self.plot.viewport().mapFromGlobal(event.globalPos()))).popup(event.globalPos())

    def _connect(self) -> None:
        self._model.replaced.connect(self._replaced)
        self._model.ceilings_changed.connect(self._ceilings_changed)
        self._model.point_added.connect(self._add_point)
        self._selection.changed.connect(self._select)
        self.bar.options_changed.connect(self.set_options)
        self.bar.device_chosen.connect(self._model.show_device)
        self.bar.fit_wanted.connect(self.fit)
        self.bar.copy_wanted.connect(self.copy_image)
        self.plot.moved_by_user.connect(self._moved_by_user)
        self.plot.view_changed.connect(self._labels_soon.start)
        self.plot.view_changed.connect(self._align_strip)
        self.plot.hovered.connect(self._hover)
        self.plot.clicked.connect(self._click)
        self.plot.double_clicked.connect(self._double_click)
        self.strip.clicked.connect(self._selection.select)
        self.strip.hovered.connect(self._hover_strip)

    def _timer(self, interval_ms: int, then: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(interval_ms)
        timer.timeout.connect(then)
        return timer

    def _replaced(self) -> None:
        self._options = ChartOptions(selected=self._selection.number, y=self._options.y)
        self._follows = True
        self._ceilings_changed()

    def _ceilings_changed(self) -> None:
        self._are_points_stale = True  # their warnings depend on the ceilings
        self._refresh_soon.start()

    def _add_point(self, point: Point) -> None:
        added = chart_point(point, self._model.session)
        if added is not None and not self._are_points_stale:
            self._points.append(added)
        if not self._refresh_soon.isActive():  # else a fast stream would put the drawing off without end
            self._refresh_soon.start()

    def _select(self, number: int | None) -> None:
        self._options = msgspec.structs.replace(self._options, selected=number)
        point = self._model.point(number) if number is not None else None
        if point and (device := self._model.session.device_of(point)):
            self._model.show_device(device)
        self._refresh()

    def _refresh(self) -> None:
        session = self._model.session
        if self._are_points_stale:
            self._points, self._are_points_stale = all_points(session), False
        self._scene = build_scene(session, self._points, self._options)
        if self._follows:
            self.plot.fit(self._scene)
        self.plot.show_scene(self._scene)
        self.bar.show_scene(self._scene, session, self._options)
        self.strip.show_strip(strip_of(self._scene), self._options.selected)
        self._labels_soon.start()
        self._describe()

    def _describe(self) -> None:
        session, number = self._model.session, self._options.selected
        selected = self._model.point(number) if number is not None else None
        text = summary(self._scene, session, is_running=self._is_running)
        if selected:
            text += f" Selected: {selected.label}. {verdict_sentence(selected, verdict(selected, session))}"
        self.setAccessibleDescription(text)

    def _align_strip(self) -> None:
        plot = self.plot.plot_rect()
        self.strip.align(plot.left(), plot.right())

    def _moved_by_user(self) -> None:
        self._follows = False
        self.card.hide()

    def _hover(self, points: tuple[ChartPoint, ...], ceiling: Ceiling | None, at: QPointF) -> None:
        if points:
            self._show_card(points[0].number, self.plot.viewport_place(points[0].number))
        elif ceiling:
            self.card.show_ceiling(ceiling, at)
        else:
            self.card.hide()

    def _hover_strip(self, number: int | None, at: QPointF) -> None:
        if number is None:
            self.card.hide()
        else:
            place = self.strip.mapTo(self, at.toPoint()) - self.plot.mapTo(self, QPoint())
            self._show_card(number, QPointF(place))

    def _show_card(self, number: int, at: QPointF) -> None:
        point = self._model.point(number)
        if point:
            self.card.show_point(point, self._model.session, at, self._speed_up_of(number))

    def _click(self, points: tuple[ChartPoint, ...]) -> None:
        """Select the nearest point; clicks where it is selected already step through those that lie there."""
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        numbers = [point.number for point in points]
        if self._selection.number in numbers:
            following = numbers.index(self._selection.number) + 1
            self._selection.select(numbers[following % len(numbers)])
        else:
            self._selection.select(numbers[0] if numbers else None)

    def _double_click(self, point: ChartPoint | None) -> None:
        if point:
            self.isolate(point.kernel)
        else:
            self.fit()

    def _step_back(self) -> None:
        """Esc undoes one thing: a filter first, then the selection."""
        if self._options.kernel or self._options.dtype:
            self.set_options(msgspec.structs.replace(self._options, kernel=None, dtype=None))
        else:
            self._selection.select(None)

    def _select_next(self, step: int) -> None:
        """The next point in the order of intensity, then of speed; for those without a mouse."""
        placed = sorted((point.x, point.y, point.number) for point in self._scene.points)
        numbers = [number for _, _, number in placed] + [point.number for point in self._scene.strip]
        if not numbers:
            return
        if self._selection.number in numbers:
            index = (numbers.index(self._selection.number) + step) % len(numbers)
        else:
            index = 0 if step > 0 else -1
        self._selection.select(numbers[index])

    def _menu(self, at: QPointF) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        point = self.plot.point_at(at)
        if point:
            kernel = point.kernel
            menu.addAction(f"Show only {kernel}", lambda: self.isolate(kernel))
        if self._options.kernel or self._options.dtype:
            menu.addAction("Show all", self._step_back)
        menu.addAction("Fit", self.fit)
        menu.addAction("Copy image", self.copy_image)
        return menu
