"""QProcess and QTimer around the supervisor: it decides, this carries out."""

import os
import time
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

from roofscope.profiling.devices.affinity import kept_to
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.process_tree import end_group, end_tree
from roofscope.profiling.supervision.core_waits import CoreWaits
from roofscope.profiling.supervision.effects import Effect, Kill, Send, Spawn
from roofscope.profiling.supervision.headless import describe_exit
from roofscope.profiling.supervision.protocol import (
    EventDecoder,
    ProtocolError,
    Task,
    encode,
    event_decoder,
)
from roofscope.profiling.supervision.run_events import Banner, BecameIdle
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget
from roofscope.profiling.supervision.worker_log import WorkerLog

_TICK_MS = 200
_CLOSE_GRACE_MS = 2000


class WorkerLink(QObject):
    """The worker as the window sees it: tasks in, what the supervisor makes of its events out."""

    reported = Signal(object)  # RunEvent

    def __init__(self, supervisor: Supervisor, target: LocalTarget, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._supervisor = supervisor
        self._target = target
        self._process: QProcess | None = None
        self._pid = 0  # which is also its group's; Qt forgets it when the process ends
        self._decoder: EventDecoder = event_decoder("")
        self._log = WorkerLog()
        self._core_waits: CoreWaits | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._patience = QTimer(self)  # for a worker that was asked to go
        self._patience.setSingleShot(True)
        self._patience.setInterval(_CLOSE_GRACE_MS)
        self._patience.timeout.connect(self._kill)

    @property
    def worker_pid(self) -> int | None:
        return self._process.processId() if self._process else None

    def submit(self, tasks: Iterable[Task]) -> None:
        self._timer.start()
        self._apply(self._supervisor.submit(tasks, time.monotonic()))

    def stop(self) -> None:
        """First call: after the current block. Second: kill."""
        self._apply(self._supervisor.stop(time.monotonic()))

    def give_more_time(self) -> None:
        """For what the worker is waiting for, and for what follows it in its task."""
        self._apply(self._supervisor.give_more_time(time.monotonic()))

    def lift_pauses(self, implementations: Iterable[Implementation]) -> None:
        """Try these again although they cost a worker."""
        self._supervisor.lift_pauses(implementations)

    def be_patient(self, patience: float) -> None:
        """Wait so many times as long for foreign code."""
        self._supervisor.be_patient(patience)

    def catalog_changed(self, catalog_hash: str, kernel_roots: Sequence[str]) -> None:
        """Sources were edited: the worker at hand reads them again before its next task."""
        self._supervisor.catalog_changed(catalog_hash, kernel_roots)

    def supersede(self, tasks: Iterable[Task]) -> None:
        """Do these instead of what is under way."""
        self._timer.start()
        self._apply(self._supervisor.supersede(tasks, time.monotonic()))

    def release(self) -> None:
        """Ask an idle worker to go, which gives its memory on the device back; does not wait for it.

        What is submitted meanwhile waits for the next worker: two at once would want one device.
        """
        if self._process is None:
            return
        effects = self._supervisor.close()
        if not self._patience.isActive():
            self._apply(effects)
            self._process.closeWriteChannel()
            self._patience.start()

    def end_worker(self) -> None:
        """Let an idle worker go and wait until it is gone, because another one wants its device."""
        self.release()
        if (process := self._process) is not None and not process.waitForFinished(_CLOSE_GRACE_MS):
            self._kill()
            process.waitForFinished(_CLOSE_GRACE_MS)

    def close(self) -> None:
        """The window is gone from the screen; wait until the worker is gone too."""
        self._timer.stop()
        self.blockSignals(True)
        self.release()
        self._patience.stop()
        process = self._process
        if process is not None and not process.waitForFinished(_CLOSE_GRACE_MS):
            self._kill()
            process.waitForFinished(_CLOSE_GRACE_MS)

    def _tick(self) -> None:
        """What has arrived counts before the time does: a window that stood still must end no worker."""
        if self._process:
            self._process.waitForReadyRead(0)  # the pipe's bytes, which Qt may not have fetched
        self._read()
        now = time.monotonic()
        waited_s = self._core_waits.since_last(now) if self._core_waits else 0.0
        self._apply(self._supervisor.tick(now, waited_s))

    def _apply(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Spawn(secret=secret):
                    self._spawn(secret)
                case Send(command=command):
                    if self._process:
                        self._process.write(encode(command))
                case Kill():
                    self._kill()
                case report:
                    if isinstance(report, BecameIdle):
                        self._timer.stop()
                    self.reported.emit(report)

    def _spawn(self, secret: str) -> None:
        process = QProcess(self)
        program, *arguments = self._target.argv()
        process.setProgram(program)
        process.setArguments(arguments)
        process.setWorkingDirectory(str(self._target.working_folder()))
        environment = QProcessEnvironment()
        for name, value in self._target.environment().items():
            environment.insert(name, value)
        process.setProcessEnvironment(environment)
        if os.name == "posix":
            # Its own session, so that compilers it started can be ended with it.
            process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
        process.readyReadStandardOutput.connect(self._read)
        process.readyReadStandardError.connect(self._read_log)
        process.finished.connect(self._finished)
        process.errorOccurred.connect(self._failed)
        self._decoder, self._log = event_decoder(secret), WorkerLog()
        self._process = process
        with kept_to(self._target.cpus):
            process.start()
        self._pid = process.processId()
        self._core_waits = CoreWaits(self._pid, time.monotonic())

    def _read(self) -> None:
        if self._process is None:
            return
        for event in self._decoder.feed(bytes(self._process.readAllStandardOutput().data())):
            if isinstance(event, ProtocolError):
                self._apply([Banner(str(event)), Kill()])
            else:
                self._apply(self._supervisor.feed(event, time.monotonic()))

    def _read_log(self) -> None:
        if self._process:
            self._log.add(bytes(self._process.readAllStandardError().data()))

    def _finished(self, code: int, status: QProcess.ExitStatus) -> None:
        # Qt gives the signal's number as the code of a crash.
        self._gone(describe_exit(-code if status is QProcess.ExitStatus.CrashExit else code))

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process:
            self._gone(f"it could not be started: {self._process.errorString()}")

    def _gone(self, description: str) -> None:
        process = self._process
        if process is None:
            return
        if self._pid and os.name == "posix":
            end_group(self._pid)
        self._supervisor.ended()
        self._read()
        self._read_log()
        self._process, self._pid = None, 0
        self._patience.stop()
        process.deleteLater()
        self._apply(self._supervisor.exited(description, self._log.text, time.monotonic()))

    def _kill(self) -> None:
        """End the worker and all below it; `finished` follows."""
        if self._process is None or not self._process.processId():
            return
        if os.name == "posix":
            end_tree(self._process.processId())
        else:
            self._process.kill()
