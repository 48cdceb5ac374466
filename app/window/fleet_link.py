"""Several devices at once, as the window sees them: a worker each, and one queue of whole jobs."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from roofscope.app.window.worker_link import WorkerLink
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.supervision.dispatcher import Dispatcher
from roofscope.profiling.supervision.fleet import Member
from roofscope.profiling.supervision.protocol import Run, Task
from roofscope.profiling.supervision.run_events import Banner, BecameIdle, RunEvent
from roofscope.profiling.supervision.target import LocalTarget


class FleetLink(QObject):
    """A WorkerLink a device, and the dispatcher that shares the jobs out among them."""

    reported = Signal(object, object)  # Device, RunEvent

    def __init__(
        self,
        make_link: Callable[[LocalTarget, QObject], WorkerLink],
        members_of: Callable[[Sequence[Device]], Sequence[Member]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._make_link = make_link
        self._members_of = members_of
        self._links: dict[str, WorkerLink] = {}  # by the device's UUID, for the devices of the last run
        self._dispatcher: Dispatcher | None = None

    @property
    def worker_pids(self) -> tuple[int | None, ...]:
        return tuple(link.worker_pid for link in self._links.values())

    def submit(
        self, devices: Sequence[Device], jobs: Iterable[Run], own: Mapping[str, Sequence[Task]]
    ) -> None:
        """Work on the jobs; ``own`` is what each device has to do by itself, by its UUID."""
        if set(self._links) != {device.uuid for device in devices}:
            self._make_links(devices)
        self._dispatcher = Dispatcher(devices, jobs, own, time.monotonic())
        self._go_on(devices[0])

    def stop(self) -> None:
        """First call: after the current blocks. Second: kill."""
        if self._dispatcher:
            self._dispatcher.drop()
        for link in self._links.values():
            link.stop()

    def give_more_time(self) -> None:
        """To each device, for what its worker is waiting for."""
        for link in self._links.values():
            link.give_more_time()

    def lift_pauses(self, implementations: Sequence[Implementation]) -> None:
        """Try these again although they cost a worker."""
        for link in self._links.values():
            link.lift_pauses(implementations)

    def be_patient(self, patience: float) -> None:
        """Wait so many times as long for foreign code."""
        for link in self._links.values():
            link.be_patient(patience)

    def catalog_changed(self, catalog_hash: str, kernel_roots: Sequence[str]) -> None:
        for link in self._links.values():
            link.catalog_changed(catalog_hash, kernel_roots)

    def end_workers(self) -> None:
        """Idle workers hold their devices: end them before another worker wants one."""
        for link in self._links.values():
            link.end_worker()

    def close(self) -> None:
        """The window is gone from the screen."""
        self.blockSignals(True)
        for link in self._links.values():
            link.close()

    def _make_links(self, devices: Sequence[Device]) -> None:
        for link in self._links.values():
            link.close()
            link.deleteLater()
        self._links = {}
        for member in self._members_of(devices):
            link = self._make_link(member.target, self)
            link.reported.connect(partial(self._hear, member.device))
            self._links[member.device.uuid] = link

    def _hear(self, device: Device, report: RunEvent) -> None:
        if self._dispatcher is None:
            return
        heard = self._dispatcher.hear(device.uuid, report, time.monotonic())
        if heard is not None:
            self.reported.emit(device, heard)
        else:
            self._go_on(device)

    def _go_on(self, device: Device) -> None:
        """Give free devices their next task; ``device`` is the one that was heard last."""
        assert self._dispatcher is not None
        for assignment in self._dispatcher.assign():
            self._links[assignment.device.uuid].submit([assignment.task])
        # A link may answer within submit(), and end the run there.
        if self._dispatcher and self._dispatcher.is_over:
            text, self._dispatcher = self._dispatcher.left_text, None
            if text:
                self.reported.emit(device, Banner(text))
            self.reported.emit(device, BecameIdle())
