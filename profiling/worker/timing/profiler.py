"""torch.profiler: the kernels of a call as CUPTI times them, and whole traces."""

import gzip
import math
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch
from msgspec import Struct
from torch._C._autograd import DeviceType
from torch.autograd.profiler import profile as kineto_profile
from torch.profiler import ProfilerActivity, profile, record_function

from roofscope.profiling.planning.trace_options import TraceOptions, why_too_large
from roofscope.profiling.results.outcome import Launch, Meanwhile, ProfiledKernel
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.timing.block import BlockReading, BlockTimer, rest_for
from roofscope.profiling.worker.timing.gpu_clock import OWN_PREFIX
from roofscope.profiling.worker.timing.turn import Turn

_TRACED_CALLS = 5
_LAUNCH_FIELDS = {
    "registers": "registers per thread",
    "shared_bytes": "shared memory",
    "occupancy_percent": "est. achieved occupancy %",
}


class Profile(NamedTuple):
    """A block under the profiler: device kernels per call, longest first, and the timer's own reading."""

    kernels: tuple[ProfiledKernel, ...]
    reading: BlockReading

    def meanwhile(self, clock_hz: float | None) -> Meanwhile:
        """This reading beside a headline that was read at this clock."""
        ratio = self.reading.clock_hz / clock_hz if self.reading.clock_hz and clock_hz else None
        return Meanwhile(self.reading.seconds, ratio)

    @property
    def kernel_sum_s(self) -> float:
        return sum(kernel.total_s for kernel in self.kernels)

    @property
    def launches(self) -> float:
        return sum(kernel.calls for kernel in self.kernels)


class Span(NamedTuple):
    """One launch on the device, in seconds of the profiler's clock."""

    name: str
    start_s: float
    end_s: float


def own_seconds(spans: Iterable[Span]) -> dict[str, list[float]]:
    """By kernel, the time of each launch that no earlier one had taken.

    A kernel that overlaps with the one in front starts early and waits for it. The wait is not its own, and a
    sum of whole durations would exceed the time that has passed.
    """
    found: dict[str, list[float]] = {}
    taken_until_s = -math.inf
    for span in sorted(spans, key=lambda span: span.start_s):
        own_s = span.end_s - max(span.start_s, taken_until_s)
        found.setdefault(span.name, []).append(max(own_s, 0.0))
        taken_until_s = max(taken_until_s, span.end_s)
    return found


def profile_turn(turn: Turn) -> Profile:
    """Device kernels of a whole block as CUPTI times them; as in a round, another block or a rest precedes.

    The clock is then near that of the timed blocks, which is enough because cycles are compared too. A kernel
    profiled on other buffers was seen to differ by 9 %.
    """
    return profile_block(turn.timer, turn.rest_s, behind_another=turn.needs_another)


def profile_block(timer: BlockTimer, rest_s: float, *, behind_another: bool) -> Profile:
    """As ``profile_turn``, of a timer whose blocks follow rests of this length."""
    if behind_another:
        time.sleep(rest_s)
        timer.block()
    readings: list[BlockReading] = []
    torch.cuda.synchronize()
    idle_since = time.perf_counter()
    # As torch.profiler has it beneath. That imports Inductor when it starts, which takes 1 to 4 s a process.
    recording = kineto_profile(use_device="cuda", use_kineto=True)
    with recording:
        rest_for(rest_s, idle_since)  # the device rests while the profiler starts, too
        readings.append(timer.block())
        torch.cuda.synchronize()
    kernels = kernels_of(_spans(recording), timer.calls_per_block, launches_in(_chrome_json(recording)))
    return Profile(kernels, readings[0])


def _spans(recording: kineto_profile) -> list[Span]:
    """What ran on the device, from Kineto itself: a tree of thousands of events in Python takes seconds.

    Since the first of them, because a double holds no nanoseconds since 1970.
    """
    found: Any = recording.kineto_results
    events = [
        event
        for event in (found.events() if found else [])
        if event.device_type() == DeviceType.CUDA
        and not event.is_hidden_event()
        and not event.name().startswith(OWN_PREFIX)
    ]
    began_ns = min((event.start_ns() for event in events), default=0)

    def span(event: Any) -> Span:
        since_ns = event.start_ns() - began_ns
        return Span(event.name(), since_ns * 1e-9, (since_ns + event.duration_ns()) * 1e-9)

    return list(map(span, events))


def kernels_of(
    spans: Iterable[Span], calls: int, launches: Mapping[str, Launch] | None = None
) -> tuple[ProfiledKernel, ...]:
    """What ``calls`` calls launched: each kernel's launches and mean time a call, longest first.

    It takes means because the headline is one: calls of 33 us take 31 to 34 us, depending on their buffers,
    and their median is 0.4 us less.
    """
    kernels = (
        ProfiledKernel(name, len(seconds) / calls, sum(seconds) / calls, (launches or {}).get(name))
        for name, seconds in own_seconds(spans).items()
    )
    return tuple(sorted(kernels, key=lambda kernel: -kernel.total_s))


class _Arguments(Struct, rename=_LAUNCH_FIELDS):
    """What Kineto writes beside a kernel; its events in Python lack most of it."""

    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    occupancy_percent: float | None = None


class _Event(Struct):
    cat: str = ""
    name: str = ""
    args: _Arguments | None = None


class _Trace(Struct):
    traceEvents: list[msgspec.Raw] = []  # named by Chrome


def launches_in(chrome_json: bytes) -> dict[str, Launch]:
    """By kernel, the shape of its first launch; empty where the trace cannot be read."""
    found: dict[str, Launch] = {}
    try:
        events = msgspec.json.decode(chrome_json, type=_Trace).traceEvents
    except (msgspec.MsgspecError, UnicodeDecodeError):  # Kineto sometimes writes invalid JSON
        return found
    for raw in events:
        try:
            event = _EVENTS.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue  # of another kind, whose arguments have other types
        shape = event.args
        if event.cat != "kernel" or event.name in found or shape is None or not (shape.grid and shape.block):
            continue
        percent = shape.occupancy_percent
        found[event.name] = Launch(
            blocks=math.prod(shape.grid),
            threads=math.prod(shape.block),
            registers=shape.registers,
            shared_bytes=shape.shared_bytes,
            occupancy=percent / 100 if percent else None,  # 0 where Kineto could not compute it
            grid=shape.grid,
            block=shape.block,
        )
    return found


_EVENTS = msgspec.json.Decoder(_Event)


def _chrome_json(recording: profile | kineto_profile) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        recording.export_chrome_trace(str(path))
        return path.read_bytes()


def record_trace(
    call: Call,
    sets: list[InputSet],
    title: str,
    options: TraceOptions = TraceOptions(),  # noqa: B008 - frozen
) -> bytes:
    """A Chrome trace (JSON, gzipped) of a few calls, each in a range of this title.

    The same calls go before it under a profiler whose events are dropped: its start, and CUPTI's, fall into
    those. Raises ValueError where the trace is larger than what a session keeps.
    """

    def run() -> None:
        for index in range(_TRACED_CALLS):
            with record_function(title):
                call(*sets[index % len(sets)])
        if on_gpu:
            torch.cuda.synchronize()

    on_gpu = sets[0][0].is_cuda
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    if on_gpu:
        torch.cuda.synchronize()
    with profile(activities=activities):
        run()
    with profile(
        activities=activities,
        record_shapes=options.shapes,
        with_stack=options.stacks,
        profile_memory=options.memory,
    ) as recording:
        run()
    content = _chrome_json(recording)
    if why := why_too_large(len(content), options):
        raise ValueError(why)
    return gzip.compress(content)
