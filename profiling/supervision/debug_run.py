"""A debug run: one implementation at one workload, through every stage that can be run here.

Each stage runs in a child with a deadline. Nothing of it is a measurement, and nothing goes into a session.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from roofscope.profiling.devices import host
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.device_lock import DeviceBusy, lock_device
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.debug_question import DebugMode, question_of
from roofscope.profiling.planning.spec import Implementation, Provider, Workload
from roofscope.profiling.providers import Family
from roofscope.profiling.results.debugging import (
    DebugRecord,
    DebugStage,
    Said,
    Seen,
    StageEnd,
    StageName,
)
from roofscope.profiling.supervision.debug_child import ChildEnd, EndedBy, run_child
from roofscope.profiling.supervision.sanitizer_log import sanitized

INTERPRET_S, RUN_S, TOOL_S = 120.0, 300.0, 300.0  # deadlines of the stages' children
TOOLS = (StageName.MEMCHECK, StageName.RACECHECK, StageName.INITCHECK, StageName.SYNCCHECK)
_MOST_ERRORS = 100


class DebugRequest(Struct, frozen=True):
    """What is run, and where. ``why_no_device``: a sentence, where its GPU may not be used now."""

    kernel: Kernel
    implementation: Implementation
    workload: Workload
    device: Device
    patience: float = 1.0
    why_no_device: str = ""
    takes_lock: bool = True  # False: this program's own worker holds it, and does nothing


class DebugRun:
    """``hear`` gets each stage as it begins and ends, in the thread that calls ``run``."""

    def __init__(
        self,
        request: DebugRequest,
        hear: Callable[[Said], None],
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._request = request
        self._hear = hear
        self._is_stopped = is_stopped
        self._stages: list[DebugStage] = []
        self._seen: list[Seen] = []
        self._begun: StageName | None = None

    def run(self) -> DebugRecord:
        for step in (self._interpret, self._run_on_device):
            if not self._is_stopped():
                step()
        return DebugRecord(tuple(self._stages), tuple(self._seen), is_stopped=self._is_stopped())

    def _interpret(self) -> None:
        if self._request.implementation.provider.facts.is_interpreted:
            self._child(DebugMode.INTERPRET, "cpu", StageName.INTERPRETER, INTERPRET_S)

    def _run_on_device(self) -> None:
        request = self._request
        is_gpu = request.device.kind is DeviceKind.CUDA
        provider = request.implementation.provider
        needs_gpu = provider.facts.family is Family.OWN_CODE and not _is_plain_cpp(request)
        if needs_gpu and not is_gpu:
            text = "Its machine code needs an NVIDIA GPU, and this run is on the CPU."
            self._end(DebugStage(StageName.BUILD, StageEnd.LEFT_OUT, text))
            return
        with self._device(is_gpu) as why:
            if why:
                self._end(DebugStage(StageName.BUILD, StageEnd.LEFT_OUT, why))
                return
            self._child(DebugMode.RUN, request.device.id, StageName.BUILD, RUN_S)
            if needs_gpu and not self._was_not_built:
                self._sanitize()

    @property
    def _was_not_built(self) -> bool:
        return any(
            stage.name is StageName.BUILD and stage.end is not StageEnd.CLEAN for stage in self._stages
        )

    @contextmanager
    def _device(self, is_gpu: bool) -> Generator[str]:
        """Hold the GPU, so that nobody measures beside it; else why not."""
        request = self._request
        if is_gpu and request.why_no_device:
            yield request.why_no_device
        elif is_gpu and request.takes_lock:
            try:
                lock = lock_device(request.device.uuid, request.device.name)
            except (DeviceBusy, OSError) as error:
                yield str(error)
                return
            with lock:
                yield ""
        else:
            yield ""

    def _child(self, mode: DebugMode, device: str, first: StageName, within_s: float) -> None:
        request = self._request
        question = question_of(request.kernel, request.implementation, request.workload, device, mode)
        self._begun = first
        patience_s = within_s * request.patience
        try:
            end = run_child(question, self._take, self._is_stopped, patience_s)
        except OSError as error:
            text = f"No process can be started: {error.strerror}."
            self._end(DebugStage(first, StageEnd.FAILED, text))
            return
        if self._begun and (words := _ending(end, patience_s)):
            self._end(DebugStage(self._begun, StageEnd.FAILED, words))
        self._begun = None

    def _take(self, said: Said) -> None:
        self._seen += said.seen
        if said.begun:
            self._begun = said.begun
            self._hear(Said(begun=said.begun))
        if said.stage:
            self._end(said.stage)

    def _end(self, stage: DebugStage) -> None:
        self._begun = None
        self._stages.append(stage)
        self._hear(Said(stage=stage))

    def _sanitize(self) -> None:
        program = compute_sanitizer()
        if program is None:
            text = "compute-sanitizer is not here; it comes with the CUDA toolkit (CUDA_HOME, or the PATH)."
            self._end(DebugStage(StageName.MEMCHECK, StageEnd.LEFT_OUT, text))
            return
        for tool in TOOLS:
            if not self._is_stopped():
                self._observe(program, tool)

    def _observe(self, program: str, tool: StageName) -> None:
        request = self._request
        self._hear(Said(begun=tool))
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="roofscope-") as folder:
            log = Path(folder) / "log"
            options = ("--tool", str(tool), "--log-file", str(log), "--print-limit", str(_MOST_ERRORS))
            question = msgspec.structs.replace(
                question_of(
                    request.kernel,
                    request.implementation,
                    request.workload,
                    request.device.id,
                    DebugMode.CALL,
                ),
                tool=(program, *options, "--show-backtrace", "no"),
            )
            patience_s = TOOL_S * request.patience
            said: list[Said] = []
            end = run_child(question, said.append, self._is_stopped, patience_s)
            text = log.read_text("utf-8", "replace") if log.is_file() else ""
        found = sanitized(str(tool), text)
        self._seen += found
        seconds = time.perf_counter() - started
        if end.how in (EndedBy.DEADLINE, EndedBy.STOP):
            self._end(DebugStage(tool, StageEnd.FAILED, _ending(end, patience_s), seconds))
        elif found:
            many = f"{len(found)} kinds of error" if len(found) > 1 else "1 kind of error"
            self._end(DebugStage(tool, StageEnd.FOUND, f"compute-sanitizer found {many}.", seconds))
        elif "SUMMARY" not in text:
            words = "compute-sanitizer did not come to its summary; it may not know this driver."
            self._end(DebugStage(tool, StageEnd.LEFT_OUT, words, seconds))
        elif failed := [one.stage for one in said if one.stage and one.stage.end is not StageEnd.CLEAN]:
            words = f"compute-sanitizer found nothing until then. {failed[0].text}"
            self._end(DebugStage(tool, StageEnd.LEFT_OUT, words, seconds))
        else:
            self._end(DebugStage(tool, StageEnd.CLEAN, "compute-sanitizer found nothing.", seconds))


def sources_of(kernel: Kernel, implementation: Implementation) -> dict[str, str]:
    """The texts of an implementation's own files, by their paths, as they are now."""
    texts: dict[str, str] = {}
    for path in kernel.paths(implementation):
        try:
            texts[str(path)] = path.read_text("utf-8", "replace")
        except OSError:  # gone meanwhile: its stage says so
            continue
    return texts


def compute_sanitizer() -> str | None:
    """The program, of the toolkit that is named or the one on the PATH."""
    toolkit = host.cuda_toolkit()
    named = os.environ.get("CUDA_HOME")
    folders = [Path(one) / "bin" for one in (named, toolkit) if one]
    for folder in folders:
        if (folder / "compute-sanitizer").is_file():
            return str(folder / "compute-sanitizer")
    return shutil.which("compute-sanitizer")


def _is_plain_cpp(request: DebugRequest) -> bool:
    """Whether it is C++ that runs anywhere."""
    entry = request.kernel.entries.get(request.implementation.stem)
    is_extension = request.implementation.provider is Provider.CUDA_EXT
    return bool(is_extension and entry and Path(entry.file).suffix != ".cu")


def _ending(end: ChildEnd, within_s: float) -> str:
    """A sentence; "" where the child came to its end."""
    match end.how:
        case EndedBy.DEADLINE:
            return (
                f"It did not end within {within_s:g} s and was ended; choose smaller sizes, or more patience."
            )
        case EndedBy.STOP:
            return "Stopped by the user."
        case EndedBy.SIGNAL:
            return f"The process that ran it ended {end.words}."
        case EndedBy.ITSELF:
            return f"The process that ran it ended {end.words or 'without a word'}."
