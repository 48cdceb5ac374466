"""Counts what calls of implementations move, by Nsight Compute, in processes of their own.

Two passes over the same calls. The bytes of DRAM come from calls on rotated buffers with caches left alone:
flushed ones would miss what is still dirty in L2 when a kernel ends, and would take from the second kernel of
a call what the first one left there. These three counters fit one pass, so no kernel is replayed and nothing
is restored in between. All other counters come from one call with flushed caches, replayed as often as is
needed.
"""

import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.device_lock import DeviceBusy, lock_device
from roofscope.profiling.devices.nsight_compute import (
    MISSING,
    NOT_PERMITTED,
    find_ncu,
    unknown_metric,
    why_refused,
)
from roofscope.profiling.paths import module_command
from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.count_question import CountQuestion, Observed, Subject
from roofscope.profiling.planning.debug_question import DebugMode, question_of
from roofscope.profiling.planning.spec import Implementation, Workload
from roofscope.profiling.process_tree import end_tree
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.supervision.ncu_table import (
    BEYOND_FULL,
    DETAIL,
    ESSENTIAL,
    SECTIONS,
    TRAFFIC,
    Table,
    counters_of,
    read_table,
)
from roofscope.profiling.supervision.tracing import trace_job

CHILD = "roofscope.profiling.worker.observed_calls"
_START_S, _EACH_S = 120.0, 90.0  # deadline: torch and ncu start; a point compiles, tunes and is counted
_QUERY_S = 60.0
_LOOK_S = 0.1
_MOST_TRIES = 4  # each without another metric that this ncu does not know
_RELEASE = re.compile(r"Version (\d+(?:\.\d+)+)")
_BASE = re.compile(r"^([a-z0-9]+__\w+)", re.MULTILINE)


class CannotCount(Exception):
    """Nothing was counted; the text is one sentence with what to do."""


class _Unfinished(CannotCount):
    """A call may have ended the process, and the others' counters with it."""


class CountRequest(Struct, frozen=True):
    """One implementation at one workload; ``byte_count``: compulsory, of a call."""

    kernel: Kernel
    implementation: Implementation
    workload: Workload
    byte_count: int

    def subject(self, device: Device) -> Subject:
        mode = DebugMode.CALL
        question = question_of(self.kernel, self.implementation, self.workload, device.id, mode)
        return Subject(question, self.byte_count)


def count_request(
    session: Session, point: Point, catalog: Catalog, devices: Sequence[Device]
) -> tuple[CountRequest, Device]:
    """What to count for a point, and where. Raises CannotTrace, for the same reasons as a trace."""
    job = trace_job(session, point, catalog, devices)
    device, kernel = session.own_device(devices, point), catalog.kernel(point.implementation.kernel)
    assert device is not None
    assert kernel is not None
    return CountRequest(kernel, job.implementations[0], job.workload, job.work.byte_count), device


def count(
    requests: Sequence[CountRequest],
    device: Device,
    *,
    takes_lock: bool = True,
    patience: float = 1.0,
    is_stopped: Callable[[], bool] = lambda: False,
    log: Path | None = None,
) -> tuple[Counters | str, ...]:
    """For each request its counters, or one sentence with why there are none.

    Takes some 30 s. ``takes_lock``: False where this program's own worker holds the device and does nothing.
    ``log`` gets what Nsight Compute printed. Raises CannotCount where nothing can be counted here.
    """
    if device.kind is not DeviceKind.CUDA:
        raise CannotCount("Counters are those of an NVIDIA GPU; this is a CPU.")
    ncu = find_ncu()
    if ncu is None:
        raise CannotCount(MISSING)
    try:
        lock = lock_device(device.uuid, device.name) if takes_lock else nullcontext()
    except (DeviceBusy, OSError) as error:
        raise CannotCount(str(error)) from error
    with lock, tempfile.TemporaryDirectory(prefix="roofscope-") as folder:
        counting = _Counting(ncu, requests, device, Path(folder), patience, is_stopped)
        try:
            return counting.counted()
        finally:
            if log:
                with suppress(OSError):
                    log.write_text("\n".join(counting.printed))


def command_for(request: CountRequest, device: Device, question: Path, report: str) -> tuple[str, ...]:
    """The command line that opens one call in Nsight Compute; writes the question that it names."""
    question.write_bytes(msgspec.json.encode(CountQuestion((request.subject(device),), rotates=False)))
    return (
        *("ncu", "--set", "full", "--metrics", ",".join(BEYOND_FULL), "--import-source", "yes"),
        *("--profile-from-start", "off"),
        *("--clock-control", "none", "--target-processes", "application-only", "--export", report),
        *module_command(CHILD),
        str(question),
    )


class _Counting:
    """One count of several requests, in a folder that is its own."""

    def __init__(
        self,
        ncu: str,
        requests: Sequence[CountRequest],
        device: Device,
        folder: Path,
        patience: float,
        is_stopped: Callable[[], bool],
    ) -> None:
        self._ncu = ncu
        self._subjects = tuple(request.subject(device) for request in requests)
        self._folder = folder
        self._within_s = (_START_S + _EACH_S * len(requests)) * patience
        self._is_stopped = is_stopped
        self._instrument = ""
        self._detail: Sequence[str] = DETAIL
        self.printed: list[str] = []  # each command and what it said

    def counted(self) -> tuple[Counters | str, ...]:
        """Raises CannotCount."""
        known = self._known()
        self._detail = [name for name in DETAIL if not known or name.split(".")[0] in known]
        self._instrument = f"Nsight Compute {self._release()}".strip()
        return tuple(self._counted(self._subjects))

    def _counted(self, subjects: tuple[Subject, ...]) -> list[Counters | str]:
        """All at once, because torch takes seconds to start; where that fails, each half by itself."""
        try:
            return self._at_once(subjects)
        except _Unfinished as error:
            if len(subjects) == 1:
                return [str(error)]
        middle = len(subjects) // 2
        return [*self._counted(subjects[:middle]), *self._counted(subjects[middle:])]

    def _at_once(self, subjects: tuple[Subject, ...]) -> list[Counters | str]:
        traffic, calls = self._pass(subjects, TRAFFIC, rotates=True)
        detail, observed = self._pass(subjects, self._detail, rotates=False)
        found: list[Counters | str] = []
        for moved, of_traffic, kernels, of_detail in zip(traffic, calls, detail, observed, strict=True):
            if problem := of_traffic.problem or of_detail.problem:
                found.append(problem)
            elif not (moved.rows and kernels.rows):
                found.append("Nsight Compute saw no kernel of it.")
            else:
                found.append(counters_of(self._instrument, moved, of_traffic.calls, kernels))
        return found

    def _pass(
        self, subjects: tuple[Subject, ...], metrics: Sequence[str], *, rotates: bool
    ) -> tuple[list[Table], tuple[Observed, ...]]:
        """The kernels of each subject. Raises CannotCount."""
        code, printed = self._run(subjects, metrics, rotates=rotates)
        for _ in range(_MOST_TRIES):
            if not (unknown := unknown_metric(printed)):
                break
            fewer = [name for name in metrics if name.split(".")[0] != unknown]
            metrics = fewer if len(fewer) < len(metrics) else ESSENTIAL
            code, printed = self._run(subjects, metrics, rotates=rotates)
        tables, observed = read_table(printed).groups(), self._answers()
        if code or len(tables) != len(subjects) or len(observed) != len(tables):
            lines = printed.splitlines()
            if code or any(line.startswith("==ERROR==") for line in lines):
                why = why_refused(code, lines)
                raise CannotCount(why) if why == NOT_PERMITTED else _Unfinished(why)
            raise _Unfinished(f"ncu saw {len(tables)} groups of kernels for {len(subjects)} points.")
        return tables, observed

    def _run(
        self, subjects: tuple[Subject, ...], metrics: Sequence[str], *, rotates: bool
    ) -> tuple[int, str]:
        """The exit code, and what ncu and the child printed."""
        answer = self._folder / "answer.json"
        answer.unlink(missing_ok=True)
        question = self._folder / "question.json"
        question.write_bytes(
            msgspec.json.encode(CountQuestion(subjects, rotates=rotates, answer=str(answer)))
        )
        sections = () if rotates else [word for name in SECTIONS for word in ("--section", name)]
        return self._ended(
            [
                *(self._ncu, "--csv", "--page", "raw", "--print-units", "base", *sections),
                *("--metrics", ",".join(metrics), "--clock-control", "none"),
                *("--cache-control", "none" if rotates else "all", "--profile-from-start", "off"),
                *("--target-processes", "application-only", *module_command(CHILD), str(question)),
            ],
            self._within_s,
        )

    def _ended(self, command: Sequence[str], within_s: float) -> tuple[int, str]:
        log = self._folder / "log"
        until = time.monotonic() + within_s
        with log.open("wb") as out:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                while True:
                    try:
                        code = child.wait(_LOOK_S)
                        break
                    except subprocess.TimeoutExpired:
                        self._check(until, within_s)
            finally:
                end_tree(child.pid)
                child.wait()
        text = log.read_text("utf-8", "replace")
        self.printed += (shlex.join(command), text)
        return code, text

    def _check(self, until: float, within_s: float) -> None:
        if self._is_stopped():
            raise CannotCount("Stopped by the user.")
        if time.monotonic() > until:
            raise CannotCount(
                f"Nsight Compute did not end within {within_s:.0f} s; count fewer points, or smaller ones."
            )

    def _answers(self) -> tuple[Observed, ...]:
        try:
            return decode((self._folder / "answer.json").read_bytes(), tuple[Observed, ...])
        except (OSError, UnreadableError):
            return ()

    def _release(self) -> str:
        _, text = self._ended([self._ncu, "--version"], _QUERY_S)
        found = _RELEASE.search(text)
        return found[1] if found else ""

    def _known(self) -> frozenset[str]:
        """Metrics that this ncu has for this GPU, without suffixes; empty where it does not say."""
        try:
            code, text = self._ended([self._ncu, "--query-metrics"], _QUERY_S)
        except CannotCount:  # it takes too long: then a metric that is unknown costs a try
            return frozenset()
        names = frozenset(_BASE.findall(text))
        return names if not code and "dram__bytes_read" in names else frozenset()
