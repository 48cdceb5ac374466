"""Asks before it measures on a GPU on which somebody else computes: all that measures comes this way."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from roofscope.app.window.background import Background
from roofscope.app.window.device_source import DeviceSource
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.sharing import Sharing, family_of
from roofscope.profiling.supervision.readiness import named


class SharedGpu(QObject):
    """Looks once, at no cost where nobody is there; else longer and in the background, and then asks."""

    asked = Signal()  # something is to be measured: what was said of an earlier run is out of date
    noticed = Signal(str)  # one sentence: somebody is there and does not compute now

    def __init__(
        self,
        source: DeviceSource,
        background: Background,
        own_pids: Callable[[], Sequence[int | None]],
        renew_workers: Callable[[], object],
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._source = source
        self._background = background
        self._own_pids = own_pids
        self._renew_workers = renew_workers
        self._window = window
        self.question: QMessageBox | None = None  # that is open now

    def ask(self, devices: Sequence[Device], go_on: Callable[[], object]) -> None:
        """Call ``go_on`` if nobody computes there, or the user wants it so.

        With others there it is a new worker that measures: it sees them, and its points carry the flag.
        """
        self.asked.emit()
        own = frozenset[int]().union(*map(family_of, self._own_pids()))

        def look(readings: int) -> list[tuple[Device, Sharing]]:
            return [(device, self._source.sharing(device, own, readings)) for device in devices]

        quick = look(1)
        if not any(sharing.is_computing for _, sharing in quick):
            self._decide(quick, go_on)
        else:  # or what it did has ended just now
            self._background.ask(lambda: look(5), lambda found: self._decide(found, go_on))

    def _decide(self, found: Sequence[tuple[Device, Sharing]], go_on: Callable[[], object]) -> None:
        said = [text for device, sharing in found if (text := sharing.notice(named(device)))]
        if any(sharing.is_computing for _, sharing in found):
            self._put(" ".join(said), go_on)
            return
        for text in said:
            self.noticed.emit(text)
        if said:
            self._renew_workers()
        go_on()

    def _put(self, text: str, go_on: Callable[[], object]) -> None:
        box = QMessageBox(self._window)
        box.setWindowTitle("The GPU is in use")
        box.setIcon(QMessageBox.Icon.Warning)
        box.setTextFormat(Qt.TextFormat.PlainText)  # other people's processes have names of their own
        box.setText(text)
        box.setInformativeText("Times would be wrong. Points measured now carry the flag 'shared GPU'.")
        measure = box.addButton("Measure nevertheless", QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))

        def nevertheless() -> None:
            self._renew_workers()
            go_on()

        measure.clicked.connect(nevertheless)
        box.finished.connect(self._closed)
        self.question = box
        box.open()

    def _closed(self) -> None:
        self.question = None
