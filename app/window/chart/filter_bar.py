"""The one row over the chart: whose it is, filters, ceilings, legend and what is shown."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from roofscope.app.presentation.roofline.caption import count_line
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, ChartY
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.view_filter import kernels_text, shown_text
from roofscope.app.window.chart.ceilings_menu import CeilingsMenu
from roofscope.app.window.chart.heading_line import HeadingLine
from roofscope.app.window.chart.legend import Legend
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.icons import icon
from roofscope.app.window.widgets.labels import choice_box, tip_text
from roofscope.app.window.widgets.segments import Segments
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Bound, Source

_EVERY_KERNEL = "All kernels"
_EVERY_DTYPE = "All dtypes"
_LEAST_CHARACTERS = 8  # of a box
_MOST_LINE = 22  # pixels of a line, above which letters are large
_SPACING = 6
_EDGE = 12
_LEAST_HEADING = 130  # only a long name of a device may end in dots before the bar takes a second row


class _Layout(NamedTuple):
    """What the bar's width is spent on, the dearest first."""

    in_one_row: bool
    named: bool  # the legend, and not by its marks alone
    whole_note: bool


class _Measured:
    """Kernels and dtypes of the points with a time; of points that arrive only those are looked at."""

    def __init__(self) -> None:
        self._seen: tuple[Point, ...] = ()
        self._kernels, self._dtypes = set[str](), set[Dtype]()

    def of(self, points: tuple[Point, ...]) -> tuple[set[str], set[Dtype]]:
        count = len(self._seen)
        if count > len(points) or (count and points[count - 1] is not self._seen[-1]):
            self._kernels, self._dtypes, count = set(), set(), 0
        for point in points[count:]:
            if point.measured:
                self._kernels.add(point.job.workload.kernel)
                self._dtypes.add(point.job.workload.dtype)
        self._seen = points
        return self._kernels, self._dtypes


class ChartBar(QWidget):
    """Shows the chart's options and the shared filter, and tells of the user's changes."""

    options_changed = Signal(object)  # ChartOptions
    device_chosen = Signal(object)  # Device, of those of the session
    y_chosen = Signal(object)  # ChartY
    fit_wanted = Signal()
    copy_wanted = Signal()

    def __init__(self, theme: Theme, shown: ShownPoints, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = shown
        self._options = ChartOptions()
        self._measured = _Measured()
        self.heading = HeadingLine(theme)
        self.devices = choice_box(
            "Device shown", "Of several devices the one whose ceilings and points are shown"
        )
        self.devices.activated.connect(lambda _: self.device_chosen.emit(self.devices.currentData()))
        self.kernels = choice_box(
            "Kernel shown",
            "Show only one kernel (double-click a point; with Ctrl one more; Esc undoes a step)",
        )
        self.dtypes = choice_box("Dtype shown", "Show only one dtype and the ceilings that bound it")
        self.kernels.activated.connect(self._choose_kernel)
        self.dtypes.activated.connect(self._choose_dtype)
        self.ceilings = _button(
            "Ceilings", "Which ceilings are drawn: where their value comes from, which units"
        )
        self.ceilings.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = CeilingsMenu(self.ceilings)
        self._menu.sources_chosen.connect(lambda sources: self._emit(sources=sources))
        self._menu.bounds_chosen.connect(lambda bounds: self._emit(bounds=bounds))
        self.ceilings.setMenu(self._menu)
        self.y_choice = Segments(
            ("FLOP/s", "Height is the rate achieved"), ("Of roof", "Height is the share of each point's roof")
        )
        self.y_choice.chosen.connect(lambda index: self.y_chosen.emit(tuple(ChartY)[index]))
        self.fit = _button(
            "Fit", "Show the whole roofline (F). Wheel zooms, drag pans, Shift and drag zooms to a box"
        )
        self.fit.clicked.connect(self.fit_wanted)
        self.copy = _button("Copy", "Copy the chart as a picture, with hardware and versions")
        self.copy.clicked.connect(self.copy_wanted)
        self.legend = Legend(theme)
        self.legend.toggle_wanted.connect(lambda provider: shown.show(shown.filter.toggled(provider)))
        self.legend.only_wanted.connect(self._show_only)
        self.count = ElidedLabel("muted")
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.count.setAccessibleName("Points shown")
        for button in (self.fit, self.copy):
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            button.setProperty("role", "legend")
        self._lay_out()

    def set_theme(self, theme: Theme) -> None:
        self.heading.set_theme(theme)
        self.fit.setIcon(icon("maximize", theme))
        self.copy.setIcon(icon("copy", theme))
        self.legend.set_theme(theme)
        self._fit_in()

    def set_heading(self, device: str, note: str) -> None:
        self.heading.set_texts(device, note)
        self._fit_in()

    def show_scene(
        self, scene: ChartScene, session: Session, options: ChartOptions, providers: Sequence[Provider]
    ) -> None:
        """Bring filters, legend and count in line with what the chart draws.

        ``providers`` are those of all points of the device, shown or not.
        """
        self._options = options
        view = self._shown.filter
        self._show_devices(session)
        kernels, dtypes = self._measured.of(session.points)
        several = [(kernels_text(view), view.kernels)] if len(view.kernels or ()) > 1 else []
        _fill(
            self.kernels,
            [(_EVERY_KERNEL, None), *several, *((name, frozenset({name})) for name in sorted(kernels))],
            view.kernels,
        )
        _fill(
            self.dtypes,
            [(_EVERY_DTYPE, None), *((dtype.label, dtype) for dtype in Dtype if dtype in dtypes)],
            view.dtype,
        )
        self._menu.show_scene(scene, is_chosen=options.bounds is not None)
        self.ceilings.setEnabled(bool(scene.known_sources))
        self.y_choice.choose(tuple(ChartY).index(scene.y))
        self.legend.show_providers(providers, view.hidden)
        is_one_device = len(session.devices) < 2  # else each point is asked for its own
        points = session.points if is_one_device else tuple(filter(session.is_shown, session.points))
        kept = self._shown.numbers
        if kept is None:
            count = len(points)
        else:
            count = len(kept) if is_one_device else sum(point.number in kept for point in points)
        text = shown_text(count, len(points))
        self.count.set_text(text if points else "")
        self.count.setToolTip(tip_text(f"{text}: {count_line(scene)}"))
        self._fit_in()

    def _show_devices(self, session: Session) -> None:
        devices = session.devices if len(session.devices) > 1 else ()
        self.devices.setVisible(bool(devices))
        if [self.devices.itemData(index) for index in range(self.devices.count())] != list(devices):
            self.devices.clear()
            for device in devices:
                self.devices.addItem(device.id, device)
                tip = tip_text(device.name)
                self.devices.setItemData(self.devices.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        shown = [device.uuid for device in devices]
        if session.device and session.device.uuid in shown:
            self.devices.setCurrentIndex(shown.index(session.device.uuid))

    def source_actions(self) -> dict[Source, QAction]:
        return self._menu.sources

    def bound_actions(self) -> dict[Bound, QAction]:
        return self._menu.bounds

    def follow_points_action(self) -> QAction:
        return self._menu.of_points

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_in()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._suit_boxes()
            self._fit_in()

    def _suit_boxes(self) -> None:
        """What they say of all needs no dots, but large letters need the window's last pixels."""
        is_large = self.fontMetrics().height() > _MOST_LINE
        for box in (self.kernels, self.dtypes):
            box.setMinimumContentsLength(_LEAST_CHARACTERS - is_large)

    def _choose_kernel(self) -> None:
        self._shown.show(replace(self._shown.filter, kernels=self.kernels.currentData()))

    def _choose_dtype(self) -> None:
        chosen = self.dtypes.currentData()
        self._shown.show(replace(self._shown.filter, dtype=Dtype(chosen) if chosen else None))

    def _show_only(self, provider: Provider, was_toggled: bool) -> None:
        """A double click is one step, that of its first click."""
        view = self._shown.filter.toggled(provider) if was_toggled else self._shown.filter
        wanted = view.only(provider, self.legend.entries)
        (self._shown.show_instead if was_toggled else self._shown.show)(wanted)

    def _emit(self, **changes: object) -> None:
        self.options_changed.emit(replace(self._options, **changes))

    def _lay_out(self) -> None:
        self._rows = (QHBoxLayout(), QHBoxLayout())
        column = QVBoxLayout(self)
        column.setContentsMargins(_EDGE, 6, _EDGE, 4)
        column.setSpacing(4)
        for row in self._rows:
            row.setSpacing(_SPACING)
            column.addLayout(row)
        self._is_one_row = True
        self._suit_boxes()
        self._put((self.heading, *self._filters, self.legend, self.count, self.fit, self.copy), ())

    @property
    def _filters(self) -> tuple[QWidget, ...]:
        return (self.devices, self.kernels, self.dtypes, self.ceilings, self.y_choice)

    def minimumSizeHint(self) -> QSize:
        """Of two rows: the heading ends in dots where it must."""
        return QSize(self._least_of_controls() + 2 * _EDGE, super().minimumSizeHint().height())

    def _least_of_controls(self) -> int:
        fixed = (widget for widget in (*self._filters, self.fit, self.copy) if not widget.isHidden())
        return sum(widget.minimumSizeHint().width() + _SPACING for widget in fixed)

    def _fit_in(self) -> None:
        """Give way where there is no room: first the note, then the legend's names, then to a second row."""
        room = self.width() - 2 * _EDGE
        controls = self._least_of_controls()
        count = self.count.sizeHint().width() + _SPACING
        note, sign = (self.heading.width_needed(whole=whole) for whole in (True, False))
        legend = {named: self.legend.width_needed(named=named) + _SPACING for named in (True, False)}

        def rest_of(layout: _Layout) -> int:
            """What the heading may have."""
            return room - legend[layout.named] - count - (controls if layout.in_one_row else 0)

        def fits(layout: _Layout) -> bool:
            is_least = not (layout.named or layout.whole_note)
            heading = note if layout.whole_note else min(sign, _LEAST_HEADING) if is_least else sign
            return heading <= rest_of(layout)

        layouts = [_Layout(*choice) for choice in product((True, False), repeat=3)]
        chosen = next(filter(fits, layouts), layouts[-1])
        self.legend.set_named(chosen.named)
        self.heading.take(max(rest_of(chosen), 0), whole=chosen.whole_note)
        self.count.setMinimumWidth(min(count, room - legend[chosen.named]) - _SPACING)
        if chosen.in_one_row != self._is_one_row:
            self._is_one_row = chosen.in_one_row
            about = (self.heading, *(self._filters if self._is_one_row else ()), self.legend, self.count)
            buttons = (self.fit, self.copy)
            self._put(*((*about, *buttons), ()) if self._is_one_row else (about, (*self._filters, *buttons)))

    def _put(self, first: Sequence[QWidget], second: Sequence[QWidget]) -> None:
        for row, widgets in zip(self._rows, (first, second), strict=True):
            while row.count():
                row.takeAt(0)
            for widget in widgets:
                if widget is self.fit and self.count not in widgets:
                    row.addStretch(1)
                row.addWidget(widget, int(widget is self.count))


def _button(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip_text(tip))
    button.setAccessibleName(text)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button


def _fill(combo: QComboBox, wanted: Sequence[tuple[str, object]], current: object) -> None:
    if [(combo.itemText(i), combo.itemData(i)) for i in range(combo.count())] != wanted:
        combo.clear()
        for text, data in wanted:
            combo.addItem(text, data)
    index = next((i for i, (_, data) in enumerate(wanted) if data == current), 0)
    combo.setCurrentIndex(index)
