"""torch.profiler: the kernels of a call as CUPTI times them, and whole traces."""

import gzip
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from profiling.agreement import Meanwhile
from profiling.outcome import ProfiledKernel
from profiling.worker.gpu_clock import OWN_PREFIX
from profiling.worker.inputs import InputSet
from profiling.worker.providers import Tensors
from profiling.worker.timing import BlockReading, BlockTimer

Call = Callable[..., Tensors]
_TRACED_CALLS = 5


class Profile(NamedTuple):
    """A block under the profiler: device kernels per call, longest first, and the timer's own reading."""

    kernels: tuple[ProfiledKernel, ...]
    reading: BlockReading

    def meanwhile(self, clock_hz: float | None) -> Meanwhile:
        """Beside a headline that was read at this clock."""
        ratio = self.reading.clock_hz / clock_hz if self.reading.clock_hz and clock_hz else None
        return Meanwhile(self.reading.seconds, ratio)

    @property
    def kernel_sum_s(self) -> float:
        return sum(kernel.total_s for kernel in self.kernels)

    @property
    def launches(self) -> float:
        return sum(kernel.calls for kernel in self.kernels)


def profile_block(timer: BlockTimer) -> Profile:
    """Device kernels of a whole block as CUPTI times them: the median duration of each.

    A kernel profiled elsewhere, on other buffers, was seen to differ by 9 %.
    """
    readings: list[BlockReading] = []
    recording = _record(lambda: readings.append(timer.block()), on_gpu=True)
    durations: dict[str, list[float]] = {}
    for event in _device_events(recording):
        if not event.name.startswith(OWN_PREFIX):
            durations.setdefault(event.name, []).append(event.device_time_total * 1e-6)
    kernels = [
        ProfiledKernel(name, len(seconds) / timer.calls_per_block, _per_call(seconds, timer.calls_per_block))
        for name, seconds in durations.items()
    ]
    return Profile(tuple(sorted(kernels, key=lambda kernel: -kernel.total_s)), readings[0])


def _per_call(seconds: list[float], calls: int) -> float:
    return len(seconds) / calls * statistics.median(seconds)


def record_trace(call: Call, sets: list[InputSet]) -> bytes:
    """A Chrome trace (JSON, gzipped) of a few calls."""

    def run() -> None:
        for index in range(_TRACED_CALLS):
            call(*sets[index % len(sets)])

    recording = _record(run, on_gpu=sets[0][0].is_cuda)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        recording.export_chrome_trace(str(path))
        return gzip.compress(path.read_bytes())


def _record(run: Callable[[], object], *, on_gpu: bool) -> profile:
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    if on_gpu:
        torch.cuda.synchronize()
    with profile(activities=activities) as recording:
        run()
        if on_gpu:
            torch.cuda.synchronize()
    return recording


def _device_events(recording: profile) -> list[Any]:
    events: Any = recording.events() or []
    return [event for event in events if event.device_type == DeviceType.CUDA]
