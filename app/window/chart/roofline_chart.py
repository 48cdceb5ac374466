"""The roofline: every measured point of the session under the machine's own ceilings."""

import copy
from collections.abc import Callable

import msgspec
from PySide6.QtCore import QPoint, QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from roofscope.app.presentation.compare.arrows import pins_on_chart
from roofscope.app.presentation.roofline.caption import summary
from roofscope.app.presentation.roofline.crowd import Crowd
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, ChartY, build_scene
from roofscope.app.presentation.roofline.strip import strip_of
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.verdict_text import verdict_sentence
from roofscope.app.window.chart.bandwidth_strip import ChartStripView
from roofscope.app.window.chart.files import ChartCopy, ChartPicture, copy_of, put_on_clipboard
from roofscope.app.window.chart.filter_bar import ChartBar
from roofscope.app.window.chart.gathering import Gathering
from roofscope.app.window.chart.hover_card import HoverCard
from roofscope.app.window.chart.pins import PinsLayer
from roofscope.app.window.chart.plot import RooflinePlot
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import ShownPoints
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.analysis.verdict import Verdict, verdict
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Point
from roofscope.profiling.roofline.roofline import Ceiling

_REST_MS = 80  # labels move only when the view has come to rest
_SLICE_S = 0.008  # of making points, in which no frame is lost
_FRAME_MS = 16  # points that arrive within a frame are drawn together
_NEXT = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}


Ask = Callable[[Callable[[], ChartCopy], Callable[[ChartCopy], object]], object]


def _ask_at_once(question: Callable[[], ChartCopy], deliver: Callable[[ChartCopy], object]) -> None:
    deliver(question())


class RooflineChart(QWidget):
    """Draws the session of a model, and shares one selection with the other panes."""

    gathered = Signal()  # a slice of the points of a large session is made

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        theme: Theme,
        speed_up_of: Callable[[int], SpeedUp | None] = lambda _number: None,
        shown: ShownPoints | None = None,
        parent: QWidget | None = None,
        verdict_of: Callable[[Point], Verdict] | None = None,
    ) -> None:
        """``verdict_of`` is for those who keep verdicts; else each point is judged here."""
        super().__init__(parent)
        self._speed_up_of = speed_up_of
        self.ask: Ask = _ask_at_once  # the window's asks a thread
        self._model, self._selection, self._theme = model, selection, theme
        self._shown = shown or ShownPoints(model, self)
        self._options = ChartOptions(selected=selection.number)
        self._follows = True  # until the user zooms, the view keeps to the whole roofline
        self._verdict_of = verdict_of
        self._gathering = Gathering(model, verdict_of)
        self._is_running = False
        self._scene = build_scene(model.session, self.crowd, self._options)
        self.bar = ChartBar(theme, self._shown)
        self.plot = RooflinePlot(theme)
        self.pins = PinsLayer(self.plot, theme)
        self.strip = ChartStripView(theme)
        self.card = HoverCard(self.plot.viewport(), theme)
        self._refresh_soon = self._timer(_FRAME_MS, self._refresh)
        self._gather_soon = self._timer(0, self._gather)
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

    @property
    def crowd(self) -> Crowd:
        """The points that a scene is made of."""
        return self._gathering.crowd

    def sizeHint(self) -> QSize:
        return QSize(820, 560)

    def set_theme(self, theme: Theme) -> None:
        """Repaint in other colours, live."""
        self._theme = theme
        palette = self.palette()
        palette.setColor(self.backgroundRole(), theme.surface)
        self.setPalette(palette)
        for part in (self.bar, self.plot, self.pins, self.strip, self.card):
            part.set_theme(theme)
        self._refresh()

    def set_heading(self, device: str, note: str) -> None:
        """Say whose roofline this is, and in a second line what else must be known of that."""
        self.bar.set_heading(device, note)

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
        self._shown.show(self._shown.filter.isolating(kernel))

    def set_y(self, y: ChartY) -> None:
        """Say what the height of a point is, and show all of it."""
        self._follows = self._follows or y is not self._options.y
        self.set_options(msgspec.structs.replace(self._options, y=y))

    def set_options(self, options: ChartOptions) -> None:
        self._options = msgspec.structs.replace(options, selected=self._selection.number)
        self._refresh()

    def png(self, scale: float = 2.0) -> bytes:
        """The chart as it stands, with title, legend and foot."""
        return self.picture().png(scale)

    def copy_image(self) -> None:
        """Put the chart on the clipboard, as PNG, SVG and CSV; drawn where it holds nobody up."""
        picture = self.picture()
        self.ask(lambda: copy_of(picture), put_on_clipboard)

    def picture(self) -> ChartPicture:
        """The chart as it stands, for a file that a thread writes while the session goes on."""
        view = self.plot.view
        size = (max(self.width(), 640), max(self.height(), 480))
        ranges = None if self._follows else (view.x, view.y)
        session = copy.copy(self._model.session)
        return ChartPicture(session, self._options, self._theme.is_dark, size, ranges)

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
        self._model.points_changed.connect(self._ceilings_changed)
        self._selection.changed.connect(self._select)
        self._shown.changed.connect(self._refresh)
        self._model.marks_changed.connect(self._refresh)
        self._model.counters_changed.connect(self._refresh)
        self.bar.options_changed.connect(self.set_options)
        self.bar.device_chosen.connect(self._model.show_device)
        self.bar.y_chosen.connect(self.set_y)
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
        self._gathering.begin()
        self._refresh_soon.start()

    def _ceilings_changed(self) -> None:
        self._gathering.begin_beside()  # the points' warnings depend on the ceilings
        self._refresh_soon.start()

    def _add_point(self, _point: Point) -> None:
        if not self._refresh_soon.isActive():  # else a fast stream would put the drawing off without end
            self._refresh_soon.start()

    def _gather(self) -> None:
        """Make more of the points of a large session; it is drawn again when all are there."""
        is_whole = self._gathering.gather(_SLICE_S)
        self.gathered.emit()
        if is_whole:
            self._refresh()
        else:
            self._gather_soon.start()

    def _select(self, number: int | None) -> None:
        self._options = msgspec.structs.replace(self._options, selected=number)
        point = self._model.point(number) if number is not None else None
        if point and (device := self._model.session.device_of(point)):
            self._model.show_device(device)
        if number is None and self._refresh_soon.isActive():
            return  # it ended with its session, and the next one is about to be drawn
        self._refresh()

    def _refresh(self) -> None:
        session = self._model.session
        if not self._gathering.gather():
            self._gather_soon.start()
        self._options = msgspec.structs.replace(self._options, shown=self._shown.numbers)
        self._scene = build_scene(session, self.crowd, self._options)
        if self._follows:
            self.plot.fit(self._scene)
        columns = self.crowd.columns_of(self._scene.points, self._scene.ghosts)
        self.plot.show_scene(self._scene, columns)
        self.pins.show_pins(pins_on_chart(session, self._scene))
        self.bar.show_scene(self._scene, session, self._options, self._providers())
        self.strip.show_strip(strip_of(self._scene), self._options.selected)
        self._labels_soon.start()
        self._describe()

    def _providers(self) -> tuple[Provider, ...]:
        """Of the device's points, shown or not."""
        session, crowd = self._model.session, self.crowd
        own = crowd.among(None)
        if len(session.devices) > 1:
            own = crowd.among({point.number for point in session.points if session.is_shown(point)})
        present = crowd.providers(own)
        return tuple(provider for provider in Provider if provider in present)

    def _describe(self) -> None:
        session, number = self._model.session, self._options.selected
        selected = self._model.point(number) if number is not None else None
        text = summary(self._scene, session, is_running=self._is_running)
        if selected:
            judged = self._verdict_of(selected) if self._verdict_of else verdict(selected, session)
            text += f" Selected: {selected.label}. {verdict_sentence(selected, judged)}"
        self.setAccessibleDescription(text)

    def _align_strip(self) -> None:
        plot = self.plot.plot_rect()
        self.strip.align(plot.left(), plot.right())

    def _moved_by_user(self) -> None:
        self._follows = False
        self.card.hide()

    def _hover(self, points: tuple[ChartPoint, ...], ceiling: Ceiling | None, at: QPointF) -> None:
        if len(points) > 1:
            ranks = {point.number: rank for rank, point in enumerate(points)}
            within = [point for point in self._model.session.points if point.number in ranks]
            within.sort(key=lambda point: ranks[point.number])
            self.card.show_points(within, self._model.session, self.plot.viewport_place(points[0].number))
        elif points:
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
        if point and QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ControlModifier:
            self._shown.show(self._shown.filter.with_kernel(point.kernel))
        elif point:
            self.isolate(point.kernel)
        else:
            self.fit()

    def _step_back(self) -> None:
        """Esc undoes one thing: the last step of the filter, then the selection."""
        if not self._shown.step_back():
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
        if not self._shown.filter.is_open:
            menu.addAction("Show all", self._shown.show_all)
        menu.addAction("Fit", self.fit)
        menu.addAction("Copy image", self.copy_image)
        return menu
