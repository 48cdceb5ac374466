"""torch.profiler: the kernels of a call as CUPTI times them, and whole traces."""

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from profiling.outcome import ProfiledKernel
from profiling.worker.inputs import InputSet
from profiling.worker.providers import Tensors

Call = Callable[..., Tensors]
_CALLS = 5


def profile_kernels(call: Call, sets: list[InputSet]) -> tuple[ProfiledKernel, ...]:
    """Device kernels per call, longest first; seconds per call."""
    totals: dict[str, tuple[int, float]] = {}
    for event in _device_events(_record(call, sets, _CALLS)):
        count, seconds = totals.get(event.name, (0, 0.0))
        totals[event.name] = (count + 1, seconds + event.device_time_total * 1e-6)
    kernels = [
        ProfiledKernel(name, count / _CALLS, seconds / _CALLS) for name, (count, seconds) in totals.items()
    ]
    return tuple(sorted(kernels, key=lambda kernel: -kernel.total_s))


def record_trace(call: Call, sets: list[InputSet]) -> bytes:
    """A Chrome trace (JSON, gzipped) of a few calls."""
    recording = _record(call, sets, _CALLS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        recording.export_chrome_trace(str(path))
        return gzip.compress(path.read_bytes())


def _record(call: Call, sets: list[InputSet], calls: int) -> profile:
    on_gpu = sets[0][0].is_cuda
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    if on_gpu:
        torch.cuda.synchronize()
    with profile(activities=activities) as recording:
        for index in range(calls):
            call(*sets[index % len(sets)])
        if on_gpu:
            torch.cuda.synchronize()
    return recording


def _device_events(recording: profile) -> list[Any]:
    events: Any = recording.events() or []
    return [event for event in events if event.device_type == DeviceType.CUDA]
