"""Measures what a device can really do: memory bandwidth by access mix, and the arithmetic pipes.

All through plain torch operations, so that one probe serves every GPU and the CPU. Each ceiling is
one entry of MEASUREMENTS; a function returns None where the device lacks the pipe.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from functools import partial
from statistics import median

import torch
from msgspec import Struct

from profiling.devices import Device
from profiling.roofline import Bound, Ceiling, Mix, Source
from profiling.store import timestamp
from profiling.worker.bench import MIB, Bench

_DEADLINE_S = 60.0  # of one ceiling, which takes about a second
_FASTEST = 5


class Reading(Struct, frozen=True):
    """A measured limit in byte/s or FLOP/s, and one sentence on how."""

    value: float
    method: str


class Measurement(Struct, frozen=True):
    """One ceiling: what it bounds, and the function that measures it."""

    bound: Bound
    measure: Callable[[Bench], Reading | None]
    mix: Mix | None = None

    @property
    def detail(self) -> str:
        """For people: ``DRAM copy``."""
        return f"{self.bound.upper()} {self.mix}" if self.mix else self.bound.upper()


def measure_ceilings(
    device: Device,
    report: Callable[[Ceiling], None],
    should_stop: Callable[[], bool],
    announce: Callable[[str, float], None],
) -> None:
    """Measure every ceiling of a device and report each as soon as it is known.

    ``announce(detail, deadline_s)`` is called before each. Returns early once ``should_stop()``.
    Raises what torch raises, above all OutOfMemoryError when other processes fill the GPU.
    """
    bench = Bench(device, should_stop)
    with torch.cuda.device(bench.torch_device) if bench.is_cuda else nullcontext():
        try:
            for measurement in MEASUREMENTS:
                if should_stop():
                    return
                if measurement.mix is None:
                    bench.release_arrays()
                announce(measurement.detail, _DEADLINE_S)
                reading = measurement.measure(bench)
                # A reading cut short by the user is no ceiling.
                if reading and not should_stop():
                    report(_ceiling(device, measurement, reading))
        finally:
            bench.release_arrays()


def _ceiling(device: Device, measurement: Measurement, reading: Reading) -> Ceiling:
    return Ceiling(
        bound=measurement.bound,
        source=Source.MEASURED_BURST,
        value=reading.value,
        method=reading.method,
        device_uuid=device.uuid,
        recorded_at=timestamp(),
        mix=measurement.mix,
    )


def _read(bench: Bench) -> Reading:
    a, _, _ = bench.arrays()
    return _bandwidth(bench, 1, {"torch.sum": lambda: torch.sum(a), "torch.amax": lambda: torch.amax(a)})


def _write(bench: Bench) -> Reading:
    a, _, _ = bench.arrays()
    return _bandwidth(bench, 1, {"Tensor.fill_": lambda: a.fill_(0.5)})


def _copy(bench: Bench) -> Reading:
    # A GPU's copy_ may take the copy engine; an elementwise kernel is what kernels compare with.
    _, b, c = bench.arrays()
    return _bandwidth(
        bench, 2, {"torch.neg": lambda: torch.neg(b, out=c), "Tensor.copy_": lambda: c.copy_(b)}
    )


def _triad(bench: Bench) -> Reading:
    a, b, c = bench.arrays()
    return _bandwidth(bench, 3, {"torch.add(a, b, alpha)": lambda: torch.add(a, b, alpha=0.5, out=c)})


def _bandwidth(bench: Bench, arrays_moved: int, calls: dict[str, Callable[[], object]]) -> Reading:
    """The best of several operations that move the same bytes."""
    size = bench.arrays()[0].nbytes
    best = Reading(0.0, "")
    for name, call in calls.items():
        times = bench.block_times_s(call)
        if bench.is_cuda:
            seconds, statistic = median(times), f"median of {len(times)} blocks, CUDA events"
        else:
            seconds, statistic = _fastest(times), f"median of the {_FASTEST} fastest of {len(times)} blocks"
        method = f"{name} on arrays of {size / MIB:.0f} MiB, {statistic}{_cache_remark(bench.device, size)}."
        best = max(best, Reading(arrays_moved * size / seconds, method), key=lambda reading: reading.value)
    return best


def _cache_remark(device: Device, size: int) -> str:
    cache = device.last_level_cache_bytes or 0
    if size >= 4 * cache:
        return ""
    return f"; too small to rule out help from the {cache / MIB:.0f} MiB of cache, for want of memory"


def _fastest(times_s: list[float]) -> float:
    """Median of the fastest blocks: clocks at boost, and on a CPU other programs only slow a block."""
    return median(sorted(times_s)[:_FASTEST])


def _matmul(bench: Bench, dtype: torch.dtype, precision: str = "highest") -> Reading | None:
    """Square matrices of uniform noise in [-1, 1]; zeros would run 7 to 15 % too fast."""
    with float32_matmul_precision(precision):
        side = _largest_side(bench, dtype)
        sides = [smaller for smaller in bench.pace.matmul_sides if smaller in (side // 2, side)]
        return max((_matmul_at(bench, dtype, side) for side in sides), key=lambda reading: reading.value)


def _largest_side(bench: Bench, dtype: torch.dtype) -> int:
    for side in bench.pace.matmul_sides[:-1]:
        call = _matmul_call(bench, dtype, side)
        call()
        # Twice the side is eight times the work. The least of three: a busy moment must not settle the size.
        if 8 * min(bench.seconds_per_call(call, 2) for _ in range(3)) > bench.pace.matmul_call_s:
            return side
    return bench.pace.matmul_sides[-1]


def _matmul_at(bench: Bench, dtype: torch.dtype, side: int) -> Reading:
    times = bench.block_times_s(_matmul_call(bench, dtype, side), bench.pace.pause_s)
    name = str(dtype).removeprefix("torch.")
    method = (
        f"torch.mm of {side} x {side} {name} matrices, uniform in [-1, 1], "
        f"median of the {_FASTEST} fastest of {len(times)} short runs."
    )
    return Reading(2 * side**3 / _fastest(times), method)


def _matmul_call(bench: Bench, dtype: torch.dtype, side: int) -> Callable[[], object]:
    a, b, out = (
        torch.empty(side, side, dtype=dtype, device=bench.torch_device).uniform_(-1, 1) for _ in "abc"
    )
    return partial(torch.mm, a, b, out=out)


@contextmanager
def float32_matmul_precision(precision: str) -> Generator[None]:
    """``highest`` is IEEE FP32, ``high`` allows TF32; what was set before comes back."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _fp32(bench: Bench) -> Reading | None:
    return _matmul(bench, torch.float32)


def _fp16(bench: Bench) -> Reading | None:
    return _matmul(bench, torch.float16)


def _bf16(bench: Bench) -> Reading | None:
    return _matmul(bench, torch.bfloat16) if _has_ampere_tensor_pipes(bench) or not bench.is_cuda else None


def _tf32(bench: Bench) -> Reading | None:
    return _matmul(bench, torch.float32, "high") if _has_ampere_tensor_pipes(bench) else None


def _has_ampere_tensor_pipes(bench: Bench) -> bool:
    """BF16 and TF32 came with compute capability 8.0."""
    return bench.is_cuda and torch.cuda.get_device_capability(bench.torch_device) >= (8, 0)


MEASUREMENTS = (
    Measurement(Bound.DRAM, _copy, Mix.COPY),
    Measurement(Bound.DRAM, _read, Mix.READ),
    Measurement(Bound.DRAM, _write, Mix.WRITE),
    Measurement(Bound.DRAM, _triad, Mix.TRIAD),
    Measurement(Bound.FP32, _fp32),
    Measurement(Bound.TF32, _tf32),
    Measurement(Bound.FP16, _fp16),
    Measurement(Bound.BF16, _bf16),
)
