"""A worker a device, all at once: for the command line and for tests.

Each device has a thread with its own HeadlessRun, which gets one task after the other. Reports and decisions
are the calling thread's alone, where the session's file is.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from roofscope.profiling.devices.affinity import keep_to, shares_of
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.supervision.dispatcher import Dispatcher
from roofscope.profiling.supervision.headless import HeadlessRun
from roofscope.profiling.supervision.protocol import Run, Task
from roofscope.profiling.supervision.run_events import Banner, BecameIdle, RunEvent
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

_TICK_S = 0.1
_END_S = 20.0  # a worker's own end, and some more

OnReport = Callable[[Device, RunEvent], None]


class Member(Struct, frozen=True):
    """A device and how its worker is started."""

    device: Device
    target: LocalTarget


def members_of(devices: Sequence[Device], target: LocalTarget = LocalTarget()) -> list[Member]:  # noqa: B008
    """Each with a worker that sees it alone, on CPUs of its own near it."""

    def aimed(device: Device, cpus: frozenset[int]) -> LocalTarget:
        gpu = device.uuid if device.kind is DeviceKind.CUDA else ""
        return msgspec.structs.replace(target, gpu=gpu, cpus=cpus)

    shares = zip(devices, shares_of(devices), strict=True)
    return [Member(device, aimed(device, cpus)) for device, cpus in shares]


class HeadlessFleet:
    """Runs jobs to their end on several devices, in the calling thread as far as others can tell."""

    def __init__(
        self,
        members: Sequence[Member],
        kernel_roots: Iterable[str],
        catalog_hash: str,
        on_report: OnReport,
        patience: float = 1.0,
        *,
        pauses: bool = True,
    ) -> None:
        self._reports: queue.Queue[tuple[Device, RunEvent | BaseException]] = queue.Queue()
        self._on_report = on_report
        self._presses = 0
        roots = tuple(kernel_roots)
        self._seats = [
            _Seat(member, Supervisor(roots, catalog_hash, patience, pauses=pauses), self._reports)
            for member in members
        ]
        self.was_stopped = False

    @property
    def worker_pids(self) -> tuple[int | None, ...]:
        return tuple(seat.run.worker_pid for seat in self._seats)

    def run(self, jobs: Iterable[Run], own: Mapping[str, Sequence[Task]] | None = None) -> tuple[Run, ...]:
        """Work until all is done; what was not run. ``own``: what each does by itself."""
        devices = [seat.member.device for seat in self._seats]
        dispatcher = Dispatcher(devices, jobs, own or {}, time.monotonic())
        seats = {seat.member.device.uuid: seat for seat in self._seats}
        while True:
            for device, task in dispatcher.assign():
                seats[device.uuid].give(task)
            if dispatcher.is_over:
                return dispatcher.left
            self._hear_stop(dispatcher)
            with contextlib.suppress(queue.Empty):
                self._hear(dispatcher, *self._reports.get(timeout=_TICK_S))

    def press_stop(self) -> None:
        """As HeadlessRun's, for all workers."""
        self._presses += 1

    def close(self) -> None:
        """End all workers, whatever they do."""
        for seat in self._seats:
            seat.dismiss()
        for seat in self._seats:
            seat.join()

    def _hear_stop(self, dispatcher: Dispatcher) -> None:
        while self._presses:
            self._presses -= 1
            self.was_stopped = True
            dispatcher.drop()
            for seat in self._seats:
                seat.run.press_stop()

    def _hear(self, dispatcher: Dispatcher, device: Device, report: RunEvent | BaseException) -> None:
        if isinstance(report, BaseException):
            raise report
        heard = dispatcher.hear(device.uuid, report, time.monotonic())
        if heard is not None:
            self._on_report(device, heard)
        elif dispatcher.is_over:
            if text := dispatcher.left_text:
                self._on_report(device, Banner(text))
            self._on_report(device, BecameIdle())


class _Seat:
    """One device's worker and the thread that talks to it."""

    def __init__(
        self,
        member: Member,
        supervisor: Supervisor,
        reports: "queue.Queue[tuple[Device, RunEvent | BaseException]]",
    ) -> None:
        self.member = member
        self._reports = reports
        self._tasks: queue.Queue[Task | None] = queue.Queue()
        self.run = HeadlessRun(supervisor, self._hear, member.target)
        self._thread = threading.Thread(target=self._work, name=f"worker of {member.device.id}", daemon=True)
        self._thread.start()

    def give(self, task: Task) -> None:
        self._tasks.put(task)

    def dismiss(self) -> None:
        """Two presses, so that a task in flight ends at once."""
        self.run.press_stop()
        self.run.press_stop()
        self._tasks.put(None)

    def join(self) -> None:
        self._thread.join(_END_S)

    def _hear(self, report: RunEvent) -> None:
        if not isinstance(
            report, BecameIdle
        ):  # said when the run has returned, which could not take a task yet
            self._reports.put((self.member.device, report))

    def _work(self) -> None:
        try:
            keep_to(self.member.target.cpus)  # this thread, and so the worker
            try:
                while (task := self._tasks.get()) is not None:
                    self.run.run([task])
                    self._reports.put((self.member.device, BecameIdle()))
            finally:
                self.run.close()
        except BaseException as error:  # noqa: BLE001 - the calling thread raises it
            self._reports.put((self.member.device, error))
