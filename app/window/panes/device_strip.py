"""The device strip: what the chosen device is doing right now, once a second."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from roofscope.app.presentation.formatting import (
    MISSING,
    clock_text,
    memory_text,
    percent_text,
    power_text,
    temperature_text,
)
from roofscope.app.window.device_source import DeviceSource
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import label, tip_text
from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState

_PERIOD_MS = 1000


class DeviceStrip(QWidget):
    """A click asks for the device's whole sheet."""

    clicked = Signal()

    def __init__(self, source: DeviceSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._device: Device | None = None
        self._name = ElidedLabel()
        self._cells: dict[str, QLabel] = {}
        self._events = label("", "warning")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 3, 8, 3)
        layout.setSpacing(16)
        layout.addWidget(self._name, 1)
        for name, tip in (
            ("clock", "Clock of the multiprocessors or cores"),
            ("memory clock", "Memory clock"),
            ("power", "Power drawn"),
            ("temperature", "Temperature"),
            ("utilisation", "Share of the last second in which it worked"),
            ("memory", "Memory used of all"),
        ):
            cell = label("", "muted")
            cell.setToolTip(tip_text(tip))
            cell.setAccessibleName(tip)
            self._cells[name] = cell
            layout.addWidget(cell)
        layout.addWidget(self._events)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._timer = QTimer(self)
        self._timer.setInterval(_PERIOD_MS)
        self._timer.timeout.connect(self._read)

    def show_device(self, device: Device | None) -> None:
        self._device = device
        self._name.set_text(device_title(device) if device else "Looking for devices...")
        if device:
            self._timer.start()
            self._read()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() is Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.clicked.emit()

    def stop(self) -> None:
        self._timer.stop()

    def _read(self) -> None:
        if self._device:
            self.show_state(self._device, self._source.state(self._device))

    def show_state(self, device: Device, state: DeviceState) -> None:
        """Cells whose value the driver does not tell are left out."""
        texts = {
            "clock": clock_text(state.clock_hz),
            "memory clock": _prefixed("mem ", clock_text(state.memory_clock_hz)),
            "power": _of(power_text(state.power_w), power_text(device.power_limit_w)),
            "temperature": temperature_text(state.temperature_c),
            "utilisation": _prefixed("busy ", percent_text(state.utilization)),
            "memory": _of(memory_text(state.memory_used_bytes), memory_text(device.memory_bytes)),
        }
        for name, cell in self._cells.items():
            cell.setText(texts[name])
            cell.setVisible(texts[name] != MISSING)
        # An idle clock is no news.
        events = [reason for reason in state.event_reasons or () if reason != "idle"]
        self._events.setText(", ".join(events))
        self._events.setVisible(bool(events))


def device_title(device: Device) -> str:
    """``NVIDIA H200, sm_90, driver 580.159.03`` or ``CPU: ..., 2 cores``."""
    if device.kind is DeviceKind.CPU:
        cores = device.core_count
        count = f", {cores} {'core' if cores == 1 else 'cores'}" if cores else ""
        return f"CPU: {device.name}{count}"
    parts = [device.name]
    if device.compute_capability:
        parts.append("sm_{}{}".format(*device.compute_capability))
    if device.driver_version:
        parts.append(f"driver {device.driver_version}")
    return ", ".join(parts)


def _of(value: str, limit: str) -> str:
    if MISSING in (value, limit):
        return value
    amount, _, unit = value.rpartition(" ")
    return f"{amount} / {limit}" if limit.endswith(f" {unit}") else f"{value} / {limit}"


def _prefixed(prefix: str, text: str) -> str:
    return MISSING if text == MISSING else prefix + text
