"""The plan bar: on which device, in which types and sizes, how carefully; Run, Stop, progress."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QToolButton,
    QWidget,
)

from roofscope.app.presentation.awaited_text import awaited_text
from roofscope.app.presentation.time_left import TimeLeft
from roofscope.app.presentation.words import parse_sizes
from roofscope.app.window.panes.plan_widgets import action_button, architecture_box, own_sizes_line, segment
from roofscope.app.window.plan_choice import PRESETS, PlanChoice
from roofscope.app.window.widgets.choice_box import ChoiceBox
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.folding_row import FoldingRow, group
from roofscope.app.window.widgets.labels import set_state, tip_text
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.planning.plan import Quality, Regime
from roofscope.profiling.planning.spec import Distribution, Dtype
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.supervision.run_events import Awaited, Progressed

Choice = TypeVar("Choice")

_LEAST_MESSAGE = 38  # letters
_MOST_NAME = 22  # letters of a device that the box has room for

_PRESET_TEXTS = {"small": "S", "medium": "M", "large": "L"}  # so that the bar fits 1024 pixels
_STAGE_TEXTS = {
    Stage.BUILD: "compiling",
    Stage.VERIFY: "verifying",
    Stage.SETTLE: "settling",
    Stage.MEASURE: "measuring",
    Stage.CHECK: "checking",
}


class PlanBar(QFrame):
    """Holds a PlanChoice; tells when it changes."""

    changed = Signal()
    device_changed = Signal()
    architecture_changed = Signal()

    def __init__(
        self,
        run: QAction,
        stop: QAction,
        more_time: QAction,
        keep_code: QAction,
        live: QAction,
        parent: QWidget | None = None,
    ) -> None:
        """``keep_code`` is a choice of the plan that a menu has, too."""
        super().__init__(parent)
        self.setObjectName("planBar")
        self._devices: tuple[Device, ...] = ()
        self._presets_touched = False
        self.device_box = ChoiceBox()
        self.device_box.setAccessibleName("Device that Run uses")
        self.device_box.setToolTip("The device that Run measures on; the chart names the one it shows")
        self.device_box.setMinimumContentsLength(12)
        self.device_box.setMaximumWidth(260)
        self.device_box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.device_box.currentIndexChanged.connect(self._device_chosen)
        self.architecture_box = architecture_box()
        self.dtypes = {
            dtype: segment(dtype.label, f"Measure in {dtype}", on=dtype is Dtype.FLOAT32) for dtype in Dtype
        }
        self.presets = {
            name: segment(_PRESET_TEXTS.get(name, name), f"The kernels' {name} sizes") for name in PRESETS
        }
        self.own_sizes = own_sizes_line()
        self.regimes = {
            Regime.BURST: segment("burst", "At the clock a fresh device holds", on=True),
            Regime.SUSTAINED: segment("sustained", "After 3 s and more of the same work"),
        }
        self.qualities = {
            Quality.QUICK: segment("quick", "Interval of 1 %, at most 2 s each", on=True),
            Quality.EXACT: segment("exact", "Interval of 0.25 %, at most 10 s each"),
        }
        self.fills = {
            Distribution.UNIFORM: segment("uniform", "Floating inputs in [-1, 1]", on=True),
            Distribution.NORMAL: segment("normal", "Floating inputs from N(0, 1): products draw more power"),
        }
        self.keep_code = segment("keep code", keep_code.toolTip())
        self.keep_code.toggled.connect(keep_code.setChecked)
        keep_code.toggled.connect(self.keep_code.setChecked)
        for choice in (self.regimes, self.qualities, self.fills):
            self._exclusive(choice.values())
        self._run_button = action_button(run, "run")
        self._stop_button = action_button(stop, "stop")
        self._stop_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        self._more_time = more_time
        self._more_time_button = action_button(more_time, "more")
        live.setIconText("On save")  # what the button says, also after its action has changed
        self._live_button = action_button(live, "segment")
        self._live_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self._message = ElidedLabel("muted")
        self._message.setAccessibleName("What Run would do, or how far it is")
        self._said = ""  # of the progress
        self._time_left = TimeLeft()
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setFixedWidth(220)
        self._progress.setAccessibleName("Progress of the run")
        self._progress.hide()
        self._arrange()
        self._connect()
        self.show_awaited(None)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._give_message_room()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._give_message_room()

    def _give_message_room(self) -> None:
        """The message is what Run is about: choices that are seldom made give way to it."""
        letters = _LEAST_MESSAGE * self.fontMetrics().averageCharWidth()
        self._message.setMinimumWidth(min(letters, self.width() // 4))

    @property
    def devices(self) -> tuple[Device, ...]:
        return self._devices

    def device(self) -> Device | None:
        """The one chosen; of all GPUs the first."""
        if self._is_all_chosen:
            return self._gpus[0]
        index = self.device_box.currentIndex()
        return self._devices[index] if 0 <= index < len(self._devices) else None

    def run_devices(self) -> tuple[Device, ...]:
        """What Run uses: the one chosen, or all GPUs."""
        if self._is_all_chosen:
            return self._gpus
        device = self.device()
        return (device,) if device else ()

    @property
    def _gpus(self) -> tuple[Device, ...]:
        return tuple(device for device in self._devices if device.kind is DeviceKind.CUDA)

    @property
    def _is_all_chosen(self) -> bool:
        return bool(self._devices) and self.device_box.currentIndex() == len(self._devices)

    @property
    def chosen_architecture(self) -> str:
        """Also while a GPU is chosen, which needs none."""
        return str(self.architecture_box.currentData() or "")

    def choose_architecture(self, architecture: str) -> None:
        self.architecture_box.setCurrentIndex(max(self.architecture_box.findData(architecture), 0))

    def architecture(self) -> str:
        """For which code is compiled; "" where a GPU is chosen, or its code is left out."""
        device = self.device()
        return self.chosen_architecture if device and device.kind is DeviceKind.CPU else ""

    def choice(self) -> PlanChoice | None:
        """The state of the bar; None without a device. Raises PlanError if own sizes cannot be read."""
        device = self.device()
        if device is None:
            return None
        return PlanChoice(
            device=device.id,
            dtypes=tuple(dtype for dtype, button in self.dtypes.items() if button.isChecked()),
            presets=tuple(name for name, button in self.presets.items() if button.isChecked()),
            own_sizes=parse_sizes(self.own_sizes.text()),
            regime=_chosen(self.regimes),
            fill=_chosen(self.fills),
            quality=_chosen(self.qualities),
            keeps_code=self.keep_code.isChecked(),
            architecture=self.architecture(),
        )

    def set_devices(self, devices: Sequence[Device], chosen: Device) -> None:
        self._devices = tuple(devices)
        self.device_box.blockSignals(True)
        self.device_box.clear()
        for device in devices:
            self.device_box.addItem(
                f"{'CPU' if device.kind is DeviceKind.CPU else device.id}: {_short(device.name)}"
            )
            self._tip_last_device(device.name)
        if len(self._gpus) > 1:
            self.device_box.addItem(f"All {len(self._gpus)} GPUs")
            tip = "Each takes the next workload when it is free; a workload's versions stay on one"
            self._tip_last_device(tip)
        self.device_box.setCurrentIndex(self._devices.index(chosen))
        self.device_box.blockSignals(False)
        self._device_chosen()

    def _tip_last_device(self, text: str) -> None:
        last = self.device_box.count() - 1
        self.device_box.setItemData(last, tip_text(text), Qt.ItemDataRole.ToolTipRole)

    def set_running(self, running: bool) -> None:
        for widget in (
            self.device_box,
            self.architecture_box,
            self.own_sizes,
            *self.dtypes.values(),
            *self.presets.values(),
            *self.regimes.values(),
            *self.qualities.values(),
            *self.fills.values(),
            self.keep_code,
        ):
            widget.setEnabled(not running)
        self._time_left = TimeLeft()
        self.choices.setVisible(not running)
        self._progress.setVisible(running)
        self._progress.setRange(0, 0)
        self.show_awaited(None)

    def show_progress(self, progress: Progressed) -> None:
        self._progress.setRange(0, max(1, progress.total))
        self._progress.setValue(progress.done)
        self._said = progress_text(progress, self._time_left.text(progress))
        self.set_message(self._said)

    def show_awaited(self, awaited: Awaited | None) -> None:
        """That the worker is silent, and what can be done about it; None when it has answered."""
        self._more_time.setEnabled(awaited is not None)
        self._more_time_button.setVisible(awaited is not None)
        if awaited:
            self._message.set_text(f"{awaited_text(awaited)} ({self._said})", "warning")

    def set_message(self, text: str, *shorter: str) -> None:
        """The end of the row: what Run would do, or the progress; ``shorter`` where there is little room."""
        self._message.set_text(text, "muted", shorter)
        set_state(self.own_sizes, "")

    def show_problem(self, text: str) -> None:
        """Say why this choice cannot run, and mark own sizes, which are the most likely cause."""
        self._message.set_text(text, "bad")
        set_state(self.own_sizes, "bad" if self.own_sizes.text() else "")

    def _arrange(self) -> None:
        """One row. The buttons stand first, where they stay while the progress takes the choices' room."""
        self.choices = FoldingRow(
            (
                group("Run on", [self.device_box, self.architecture_box], 0),
                group("Data types", self.dtypes.values(), 1),
                group("Sizes", self.presets.values(), 2),
                group("Own sizes", [self.own_sizes], 3),
                group("Precision", self.qualities.values(), 4),
                group("Regime", self.regimes.values(), 5),
                group("Inputs", self.fills.values(), 6),
                group("Generated code", [self.keep_code], 7),
            ),
            self._chosen_behind,
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(8)
        row.addWidget(self._run_button)
        row.addWidget(self._stop_button)
        row.addWidget(self._live_button)
        row.addSpacing(4)
        row.addWidget(self.choices)
        row.addWidget(self._progress)
        row.addSpacing(4)
        row.addWidget(self._message, 1)
        row.addWidget(self._more_time_button)

    def _chosen_behind(self, folded: set[str]) -> str:
        """What is chosen of the folded groups, in words; nothing of what is usual."""
        dtypes = [dtype.label for dtype, button in self.dtypes.items() if button.isChecked()]
        said = {
            "Data types": "+".join(dtypes),
            "Sizes": "+".join(name for name, button in self.presets.items() if button.isChecked()),
            "Own sizes": self.own_sizes.text().strip(),
            "Precision": "" if _chosen(self.qualities) is Quality.QUICK else Quality.EXACT.value,
            "Generated code": "keep code" if self.keep_code.isChecked() else "",
            "Inputs": "" if _chosen(self.fills) is Distribution.UNIFORM else "N(0,1)",
            "Regime": "" if _chosen(self.regimes) is Regime.BURST else Regime.SUSTAINED.value,
        }
        return ", ".join(text for caption, text in said.items() if caption in folded and text)

    def _connect(self) -> None:
        for button in self.presets.values():
            button.clicked.connect(self._touch_presets)
        for buttons in (self.dtypes, self.presets, self.regimes, self.qualities, self.fills):
            for button in buttons.values():
                button.toggled.connect(self.changed)
        self.own_sizes.textChanged.connect(self.changed)
        self.architecture_box.currentIndexChanged.connect(self.architecture_changed)
        self.architecture_box.currentIndexChanged.connect(self.changed)
        self.keep_code.toggled.connect(self.changed)
        self.changed.connect(self.choices.tell)

    def _exclusive(self, buttons: Iterable[QToolButton]) -> None:
        group = QButtonGroup(self)
        for button in buttons:
            group.addButton(button)

    def _touch_presets(self) -> None:
        self._presets_touched = True

    def _device_chosen(self) -> None:
        device = self.device()
        self.architecture_box.setVisible(device is not None and device.kind is DeviceKind.CPU)
        if device and not self._presets_touched:
            # Medium on a CPU (large takes minutes), large on a GPU (smaller is too short to judge).
            default = "medium" if device.kind is DeviceKind.CPU else "large"
            for name, button in self.presets.items():
                button.setChecked(name == default)
        self.device_changed.emit()
        self.changed.emit()


def _short(name: str) -> str:
    """A product's name without what every product has."""
    for word in ("(R)", "(TM)", "(tm)", "NVIDIA ", " Processor", " CPU"):
        name = name.replace(word, "")
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"


def progress_text(progress: Progressed, time_left: str) -> str:
    """``12 of 48, softmax / triton online, compiling, about 2 min left``."""
    parts = [f"{progress.done} of {progress.total}", progress.item, progress.detail]
    if progress.stage:
        parts.insert(2, _STAGE_TEXTS[progress.stage])
    return ", ".join(part for part in (*parts, time_left) if part)


def _chosen(buttons: dict[Choice, QToolButton]) -> Choice:
    return next(value for value, button in buttons.items() if button.isChecked())
