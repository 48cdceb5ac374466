"""The two lines over the chart: filters and export, then the legend and what is shown."""

from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from roofscope.app.presentation.roofline.caption import count_line, providers_of
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene
from roofscope.app.presentation.tokens import PROVIDER_NAMES, Theme
from roofscope.app.window.chart.ceilings_menu import CeilingsMenu
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.icons import provider_icon
from roofscope.app.window.widgets.labels import choice_box, tip_text
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.roofline import Bound, Source

_EVERY_KERNEL = "All kernels"
_EVERY_DTYPE = "All dtypes"


class ChartBar(QWidget):
    """Shows the chart's options and tells of the user's changes; holds no scene of its own."""

    options_changed = Signal(object)  # ChartOptions
    device_chosen = Signal(object)  # Device, of those of the session
    fit_wanted = Signal()

    copy_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._options = ChartOptions()
        self.devices = choice_box(
            "Device shown", "Of several devices the one whose ceilings and points are shown"
        )
        self.devices.activated.connect(lambda _: self.device_chosen.emit(self.devices.currentData()))
        self.kernels = choice_box(
            "Kernel shown", "Show only one kernel (double-click a point; Esc shows all)"
        )
        self.dtypes = choice_box("Dtype shown", "Show only one dtype and the ceilings that bound it")
        self.kernels.activated.connect(self._filtered)
        self.dtypes.activated.connect(self._filtered)
        self.ceilings = _button(
            "Ceilings", "Which ceilings are drawn: where their value comes from, which units"
        )
        self.ceilings.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = CeilingsMenu(self.ceilings)
        self._menu.sources_chosen.connect(self._choose_sources)
        self._menu.bounds_chosen.connect(self._choose_bounds)
        self.ceilings.setMenu(self._menu)
        fit = _button(
            "Fit", "Show the whole roofline (F). Wheel zooms, drag pans, Shift and drag zooms to a box"
        )
        fit.clicked.connect(self.fit_wanted)
        copy = _button("Copy", "Copy the chart as a picture, with hardware and versions")
        copy.clicked.connect(self.copy_wanted)
        self._legend = QHBoxLayout()
        self._legend.setSpacing(14)
        self._count = ElidedLabel("muted")
        self._count.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._count.setAccessibleName("Points shown")
        self._lay_out(fit, copy)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._providers: tuple[Provider, ...] = ()

    def show_scene(self, scene: ChartScene, session: Session, options: ChartOptions) -> None:
        """Bring filters, legend and count in line with what the chart draws."""
        self._options = options
        self._show_devices(session)
        kernels = sorted({point.job.workload.kernel for point in session.points if point.measured})
        dtypes = {point.job.workload.dtype for point in session.points if point.measured}
        _fill(self.kernels, _EVERY_KERNEL, [(name, name) for name in kernels], options.kernel)
        _fill(
            self.dtypes,
            _EVERY_DTYPE,
            [(dtype.label, dtype) for dtype in Dtype if dtype in dtypes],
            options.dtype,
        )
        self._menu.show_scene(scene, is_chosen=options.bounds is not None)
        self.ceilings.setEnabled(bool(scene.known_sources))
        self._show_legend(providers_of(scene))
        self._count.set_text(count_line(scene))
        self._count.setToolTip(tip_text(count_line(scene)))

    def _show_devices(self, session: Session) -> None:
        devices = session.devices if len(session.devices) > 1 else ()
        self.devices.setVisible(bool(devices))
        if [self.devices.itemData(index) for index in range(self.devices.count())] != list(devices):
            self.devices.clear()
            for device in devices:
                self.devices.addItem(device.id, device)
                self.devices.setItemData(self.devices.count() - 1, device.name, Qt.ItemDataRole.ToolTipRole)
        shown = [device.uuid for device in devices]
        if session.device and session.device.uuid in shown:
            self.devices.setCurrentIndex(shown.index(session.device.uuid))

    def source_actions(self) -> dict[Source, QAction]:
        return self._menu.sources

    def bound_actions(self) -> dict[Bound, QAction]:
        return self._menu.bounds

    def follow_points_action(self) -> QAction:
        return self._menu.of_points

    def _show_legend(self, providers: tuple[Provider, ...]) -> None:
        if providers == self._providers:
            return
        self._providers = providers
        while item := self._legend.takeAt(0):
            if widget := item.widget():
                widget.deleteLater()
        ratio = self.devicePixelRatioF()
        for provider in providers:
            entry = QWidget()
            row = QHBoxLayout(entry)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(5)
            mark = QLabel()
            mark.setPixmap(provider_icon(provider, self._theme).pixmap(QSize(18, 18), ratio))
            row.addWidget(mark)
            row.addWidget(QLabel(PROVIDER_NAMES[provider]))
            self._legend.addWidget(entry)

    def _filtered(self) -> None:
        self._emit(self._options)

    def _choose_sources(self, sources: frozenset[Source]) -> None:
        self._emit(replace(self._options, sources=sources))

    def _choose_bounds(self, bounds: frozenset[Bound] | None) -> None:
        self._emit(replace(self._options, bounds=bounds))

    def _emit(self, options: ChartOptions) -> None:
        dtype, kernel = self.dtypes.currentData(), self.kernels.currentData()
        self.options_changed.emit(replace(options, dtype=dtype, kernel=kernel))

    def _lay_out(self, *right: QToolButton) -> None:
        filters = QHBoxLayout()
        filters.setSpacing(8)
        for widget in (self.devices, self.kernels, self.dtypes, self.ceilings):
            filters.addWidget(widget)
        filters.addStretch(1)
        for button in right:
            filters.addWidget(button)
        second = QHBoxLayout()
        second.addLayout(self._legend)
        second.addSpacing(14)
        second.addWidget(self._count, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 10, 14, 2)
        column.setSpacing(8)
        column.addLayout(filters)
        column.addLayout(second)


def _button(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip_text(tip))
    button.setAccessibleName(text)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button


def _fill(combo: QComboBox, first: str, entries: Sequence[tuple[str, object]], current: object) -> None:
    wanted = [(first, None), *entries]
    if [(combo.itemText(i), combo.itemData(i)) for i in range(combo.count())] != wanted:
        combo.clear()
        for text, data in wanted:
            combo.addItem(text, data)
    index = next((i for i, (_, data) in enumerate(wanted) if data == current), 0)
    combo.setCurrentIndex(index)
