"""The worker process: takes over stdio, says hello, obeys commands.

File descriptor 1 carries the protocol and nothing else: it is duplicated and then pointed at
descriptor 2, so that prints of kernels, of child processes and of C code land in the log.
"""

import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.profiling.supervision.protocol import (
    PROTOCOL_VERSION,
    Bye,
    Cancel,
    CeilingReady,
    Close,
    Command,
    Event,
    Hello,
    Notice,
    Open,
    Probe,
    ProofReady,
    ProtocolError,
    Run,
    SelfTest,
    StageStarted,
    Task,
    TaskDone,
    Trace,
    command_decoder,
    encode,
    task_id,
)

if TYPE_CHECKING:  # torch is imported after the reader thread is up: a parent that dies meanwhile is noticed
    from roofscope.profiling.worker.timing.instruments import Instruments


class Channel:
    """Both directions of the conversation, and the cancel flag that may arrive at any time."""

    def __init__(self, output_fd: int) -> None:
        self._output_fd = output_fd
        self._lock = threading.Lock()
        self._commands: queue.Queue[Command] = queue.Queue()
        self._cancelled: set[str] = set()

    def emit(self, event: Event) -> None:
        data = encode(event)
        with self._lock:
            while data:
                data = data[os.write(self._output_fd, data) :]

    def next_command(self) -> Command:
        return self._commands.get()

    def is_cancelled(self, task: Task) -> bool:
        return task_id(task) in self._cancelled

    def read_commands(self) -> None:
        """Body of the reader thread. The end of stdin means that the parent is gone: end too."""
        decoder = command_decoder()
        while data := os.read(0, 1 << 16):
            try:
                for command in decoder.feed(data):
                    if isinstance(command, Cancel):
                        self._cancelled.add(command.id)
                        continue
                    if isinstance(command, Task):
                        # One of the same name may have been cancelled before: "ceilings", "selftest".
                        self._cancelled.discard(task_id(command))
                    self._commands.put(command)
            except ProtocolError as error:
                sys.stderr.write(f"{error}\n")
        kill_group()


class Worker:
    """Carries out commands, one at a time."""

    def __init__(self, channel: Channel, catalog: Catalog, environment: Environment) -> None:
        self._channel = channel
        self._catalog = catalog
        self._environment = environment
        self._locks: dict[str, IO[str]] = {}
        self._instruments: dict[str, Instruments] = {}

    def serve(self) -> str | None:
        """Until told to close. Returns why the worker must end by itself, if it must."""
        from roofscope.profiling.worker.device_lock import DeviceBusy
        from roofscope.profiling.worker.job.executor import DeviceFault

        while True:
            command = self._channel.next_command()
            if isinstance(command, Close | Open | Cancel):
                return None
            try:
                problem = self._carry_out(command)
            except DeviceFault as error:
                self._channel.emit(Bye(str(error), restart=True))
                return str(error)
            except DeviceBusy as error:
                self._channel.emit(Bye(str(error), restart=False))
                return str(error)
            self._channel.emit(TaskDone(task_id(command), problem))

    def _carry_out(self, command: Task) -> str:
        """Returns one sentence when the task failed as a whole, else nothing."""
        from roofscope.profiling.worker.device_lock import DeviceBusy
        from roofscope.profiling.worker.failures import CancelRequested
        from roofscope.profiling.worker.job.executor import DeviceFault

        try:
            device = self._device(
                command.device if isinstance(command, Probe | SelfTest) else command.job.device
            )
            with _current(device):
                self._perform_soundly(command, device)
        except CancelRequested:
            return ""
        except (DeviceFault, DeviceBusy):
            raise
        except Exception as error:  # noqa: BLE001 - the queue goes on after a task that fails as a whole
            traceback.print_exc()
            return f"{_label(command)} failed: {str(error).strip() or type(error).__name__}"
        finally:
            _release_memory()
        return ""

    def _perform_soundly(self, command: Task, device: Device) -> None:
        """Raises DeviceFault where what went wrong has left the device unusable for the next task."""
        import torch

        from roofscope.profiling.worker.failures import CancelRequested
        from roofscope.profiling.worker.job.executor import DeviceFault, require_sound

        try:
            self._perform(command, device)
        except (CancelRequested, DeviceFault):
            raise
        except Exception as error:
            require_sound(torch.device(device.id), error, _label(command))
            raise

    def _perform(self, command: Task, device: Device) -> None:
        from roofscope.profiling.worker.failures import CancelRequested
        from roofscope.profiling.worker.job.executor import JobExecutor

        def check_cancelled() -> None:
            if self._channel.is_cancelled(command):
                raise CancelRequested

        match command:
            case Probe():
                self._probe(command, device)
            case SelfTest():
                self._prove(command, self._instruments_of(device), check_cancelled)
            case Run(job=job) | Trace(job=job):
                _import_compiler(job)
                emit = self._channel.emit
                executor = JobExecutor(
                    job, self._catalog, self._instruments_of(device), emit, check_cancelled
                )
                if isinstance(command, Trace):
                    executor.trace()
                else:
                    executor.run()

    def _device(self, device_id: str) -> Device:
        from roofscope.profiling.worker.device_lock import lock_device

        device = self._environment.device(device_id)
        if device is None:
            known = ", ".join(device.id for device in self._environment.devices)
            raise ValueError(f"there is no device {device_id!r}; there are {known}.")
        if device.uuid not in self._locks:
            self._locks[device.uuid] = lock_device(device.uuid, device.name)
        return device

    def _instruments_of(self, device: Device) -> "Instruments":
        from roofscope.profiling.worker.timing.instruments import Instruments

        if device.uuid not in self._instruments:
            self._instruments[device.uuid] = Instruments(device)
        return self._instruments[device.uuid]

    def _prove(
        self, command: SelfTest, instruments: "Instruments", check_cancelled: Callable[[], None]
    ) -> None:
        from roofscope.profiling.worker.selftest.runner import carry_out

        def report(proof: Proof) -> None:
            self._channel.emit(ProofReady(command.id, proof))

        def announce(detail: str, deadline_s: float) -> None:
            self._channel.emit(StageStarted(command.id, Stage.MEASURE, deadline_s, None, detail))

        carry_out(command.proofs, instruments, report, announce, check_cancelled)

    def _probe(self, command: Probe, device: Device) -> None:
        from roofscope.profiling.worker.ceilings.measure import measure_ceilings

        def report(ceiling: Ceiling) -> None:
            self._channel.emit(CeilingReady(command.id, ceiling))

        def announce(detail: str, deadline_s: float) -> None:
            self._channel.emit(StageStarted(command.id, Stage.MEASURE, deadline_s, None, detail))

        def notify(text: str) -> None:
            self._channel.emit(Notice(text))

        measure_ceilings(device, report, lambda: self._channel.is_cancelled(command), announce, notify)


def main() -> int:
    if os.getpid() != os.getsid(0):
        os.setsid()  # our own group: whoever kills it takes nvcc, ptxas and inductor's helpers too
    output_fd = os.dup(1)
    os.dup2(2, 1)
    channel = Channel(output_fd)
    threading.Thread(target=channel.read_commands, daemon=True).start()
    opening = channel.next_command()
    if not isinstance(opening, Open):
        channel.emit(Bye(f"The first command was {type(opening).__name__}, not open.", restart=False))
        return 2
    if opening.protocol != PROTOCOL_VERSION:
        channel.emit(
            Bye(f"This worker speaks protocol {PROTOCOL_VERSION}, not {opening.protocol}.", restart=False)
        )
        return 2
    catalog = scan([LIBRARY, *map(Path, opening.kernel_roots)])
    from roofscope.profiling.worker.environment import read_environment

    environment = read_environment()
    from roofscope.profiling.worker.gc_policy import overlook_imports

    overlook_imports()
    channel.emit(Hello(PROTOCOL_VERSION, environment, catalog.hash))
    ended_because = Worker(channel, catalog, environment).serve()
    # Not sys.exit: a broken CUDA context can hang in the destructors that a clean exit runs.
    sys.stderr.flush()
    os._exit(1 if ended_because else 0)


def kill_group() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _current(device: Device) -> AbstractContextManager[object]:
    """Makes a GPU torch's current one: events, streams, captures and Triton's launches go by that."""
    import torch

    return torch.cuda.device(device.id) if device.kind is DeviceKind.CUDA else nullcontext()


def _import_compiler(job: Job) -> None:
    """Before a job's modules and buffers are there, which must not be overlooked with it."""
    if all(version.provider is not Provider.COMPILE for version in job.implementations):
        return
    if "roofscope.profiling.worker.build.providers.compile" not in sys.modules:
        from roofscope.profiling.worker.gc_policy import overlook_imports

        with suppress(ImportError):  # the build says so
            import roofscope.profiling.worker.build.providers.compile  # noqa: F401  # pyright: ignore[reportUnusedImport]

            overlook_imports()


def _label(command: Task) -> str:
    match command:
        case Probe(device=device):
            return f"Measuring the ceilings of {device}"
        case SelfTest(device=device):
            return f"The self-test on {device}"
        case Trace(job=job):
            return f"The trace of {job.implementations[0].key}"
        case Run(job=job):
            return job.workload.label


def _release_memory() -> None:
    """Give a task's memory back before the next one asks how much is free."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_initialized():
        with suppress(RuntimeError):  # of a broken context: why it broke is the news
            torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
