"""Carries out the parent's commands, one at a time, on devices that it has locked."""

import gc
import importlib
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import NoReturn

import torch

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.device_lock import DeviceBusy, DeviceLock, lock_when_free
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.spec import REPLAYING_MODES, Implementation, Provider
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.profiling.supervision.protocol import (
    PROTOCOL_VERSION,
    Bye,
    Cancel,
    CeilingReady,
    Close,
    Hello,
    Notice,
    Open,
    Probe,
    ProofReady,
    Renew,
    Run,
    SelfTest,
    StageStarted,
    Task,
    TaskDone,
    Trace,
    task_id,
    task_label,
)
from roofscope.profiling.worker.candidate.compilers import Compiler
from roofscope.profiling.worker.candidate.fork_server import ForkServer
from roofscope.profiling.worker.ceilings.measure import measure_ceilings
from roofscope.profiling.worker.channel import Channel
from roofscope.profiling.worker.failures import CancelRequested, DeviceFault
from roofscope.profiling.worker.guard import end_by_signal
from roofscope.profiling.worker.job.candidate_process import CandidateLost, ForkedProcess
from roofscope.profiling.worker.job.executor import JobExecutor
from roofscope.profiling.worker.job.processes import Processes
from roofscope.profiling.worker.selftest.runner import carry_out
from roofscope.profiling.worker.soundness import require_sound
from roofscope.profiling.worker.timing.instruments import Instruments

_KERNELS = "roofscope.kernels."
_PREDECESSOR_S = 10.0  # that a worker before this one may take to end


class Server:
    """Carries out commands, one at a time."""

    def __init__(
        self, channel: Channel, catalog: Catalog, environment: Environment, candidates: ForkServer
    ) -> None:
        self._channel = channel
        self._catalog = catalog
        self._environment = environment
        self._candidates = candidates
        self._processes = Processes(candidates)
        self._locks: dict[str, DeviceLock] = {}
        self._instruments: dict[str, Instruments] = {}
        self._interpreters: ForkServer | None = None  # of processes in which Triton interprets
        os.register_at_fork(after_in_child=self._let_go_of_locks)

    def serve(self) -> str | None:
        """Serve until the parent closes. Returns the reason if the worker must end by itself."""
        while True:
            command = self._channel.next_command()
            if isinstance(command, Close | Open | Cancel):
                return None
            if isinstance(command, Renew):
                self._renew(command)
                continue
            try:
                problem = self._carry_out(command)
            except DeviceFault as error:
                self._channel.emit(Bye(str(error), restart=True))
                return str(error)
            except CandidateLost as error:
                # As if it had been this process: the program then restarts it, and names the implementation.
                _end_as(error.code)
            except DeviceBusy as error:
                self._channel.emit(Bye(str(error), restart=False, is_busy=True))
                return str(error)
            self._channel.emit(TaskDone(task_id(command), problem))

    def _renew(self, command: Renew) -> None:
        """Read the kernels again; forget what references of before have imported of them."""
        self._processes.end_resting()
        try:
            self._catalog = scan([LIBRARY, *map(Path, command.kernel_roots)], self._catalog)
        except Exception as error:  # noqa: BLE001 - what was read before can be measured still
            traceback.print_exc()
            reason = printable(str(error).strip() or type(error).__name__)
            self._channel.emit(Notice(f"The kernels could not be read again: {reason}."))
        forget_imports()
        self._channel.emit(Hello(PROTOCOL_VERSION, self._environment, self._catalog.hash))

    def _carry_out(self, command: Task) -> str:
        """Returns one sentence when the task failed as a whole, else an empty one."""
        try:
            device = self._device(
                command.device if isinstance(command, Probe | SelfTest) else command.job.device
            )
            with _current(device):
                self._perform_soundly(command, device)
        except CancelRequested:
            return ""
        except (CandidateLost, DeviceFault, DeviceBusy):
            raise
        except Exception as error:  # noqa: BLE001 - the queue goes on after a task that fails as a whole
            traceback.print_exc()
            return f"{_subject(command)} failed: {str(error).strip() or type(error).__name__}"
        finally:
            _release_memory()
        return ""

    def _perform_soundly(self, command: Task, device: Device) -> None:
        """Raises DeviceFault where what went wrong has left the device unusable for the next task."""
        try:
            self._perform(command, device)
        except (CancelRequested, CandidateLost, DeviceFault):
            raise
        except Exception as error:
            require_sound(torch.device(device.id), error, _subject(command))
            raise

    def _perform(self, command: Task, device: Device) -> None:
        def check_cancelled() -> None:
            if self._channel.is_cancelled(command):
                raise CancelRequested

        match command:
            case Probe():
                self._processes.end_resting()
                self._probe(command, device)
            case SelfTest():
                self._processes.end_resting()
                self._prove(command, self._instruments_of(device), check_cancelled)
            case Run(job=job) | Trace(job=job):
                self._candidates.prepare(Compiler.of(job.implementations))
                replays = any(map(_is_replaying, job.implementations))
                folder = self._own_folder(command)
                connect = self._processes.connect(folder, device.uuid, leaves_much=replays)
                executor = JobExecutor(
                    job,
                    self._catalog,
                    self._instruments_of(device),
                    connect,
                    self._channel.emit,
                    check_cancelled,
                    self._connect_interpreter,
                )
                if isinstance(command, Trace):
                    executor.trace(command.options)
                else:
                    executor.run()

    def _own_folder(self, command: Run | Trace) -> Path | None:
        """Of a kernel of which no other package runs; a trace shows one process from its start."""
        if not isinstance(command, Run) or any(map(_is_foreign, command.job.implementations)):
            return None
        kernel = self._catalog.kernel(command.job.workload.kernel)
        return kernel.folder if kernel else None

    def _connect_interpreter(self) -> ForkedProcess:
        """Triton reads it in the environment when it is imported, so a server of its own is started."""
        if self._interpreters is None:
            self._interpreters = ForkServer.spawned(TRITON_INTERPRET="1")
            os.register_at_fork(after_in_child=self._interpreters.close)
        return ForkedProcess(self._interpreters)

    def _device(self, device_id: str) -> Device:
        device = self._environment.device(device_id)
        if device is None:
            known = ", ".join(device.id for device in self._environment.devices)
            raise ValueError(f"there is no device {device_id!r}; there are {known}.")
        if device.uuid not in self._locks:
            self._locks[device.uuid] = lock_when_free(device.uuid, device.name, _PREDECESSOR_S)
        return device

    def _let_go_of_locks(self) -> None:
        """In a child of a user's reference.py, which must not hold a device after this process has ended."""
        for lock in self._locks.values():
            lock.close()

    def _instruments_of(self, device: Device) -> Instruments:
        if device.uuid not in self._instruments:
            self._instruments[device.uuid] = Instruments(device)
        return self._instruments[device.uuid]

    def _prove(
        self, command: SelfTest, instruments: Instruments, check_cancelled: Callable[[], None]
    ) -> None:
        def report(proof: Proof) -> None:
            self._channel.emit(ProofReady(command.id, proof))

        def announce(detail: str, deadline_s: float) -> None:
            self._channel.emit(StageStarted(command.id, Stage.MEASURE, deadline_s, None, detail))

        carry_out(
            command.proofs, instruments, self._processes.connect(None, ""), report, announce, check_cancelled
        )

    def _probe(self, command: Probe, device: Device) -> None:
        def report(ceiling: Ceiling) -> None:
            self._channel.emit(CeilingReady(command.id, ceiling))

        def announce(detail: str, deadline_s: float) -> None:
            self._channel.emit(StageStarted(command.id, Stage.MEASURE, deadline_s, None, detail))

        def notify(text: str) -> None:
            self._channel.emit(Notice(text))

        measure_ceilings(device, report, lambda: self._channel.is_cancelled(command), announce, notify)


def _is_foreign(implementation: Implementation) -> bool:
    """Somebody else's package, of which nobody knows what it leaves in its process."""
    return implementation.provider.facts.imports_long


def _is_replaying(implementation: Implementation) -> bool:
    """It leaves the memory of graphs that torch.compile replays in its process."""
    return implementation.provider is Provider.COMPILE and implementation.variant in REPLAYING_MODES


def forget_imports() -> None:
    """Let what kernels share be imported again: a reference of before has brought the old text in."""
    for name in [name for name in sys.modules if name.startswith(_KERNELS)]:
        del sys.modules[name]
    importlib.invalidate_caches()


def _current(device: Device) -> AbstractContextManager[object]:
    """Makes a GPU torch's current one, which events, streams, captures and Triton's launches use."""
    return torch.cuda.device(device.id) if device.kind is DeviceKind.CUDA else nullcontext()


def _end_as(code: int) -> NoReturn:
    sys.stderr.flush()
    if code < 0:
        end_by_signal(-code)
    os._exit(code)


def _subject(command: Task) -> str:
    return f"The task {task_label(command)!r}"


def _release_memory() -> None:
    """Give a task's memory back before the next one asks how much is free."""
    gc.collect()
    if torch.cuda.is_initialized():
        with suppress(RuntimeError):  # of a broken context, whose cause is reported elsewhere
            torch.cuda.empty_cache()
