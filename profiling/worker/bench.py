"""A device under the probe: how it is timed, and the arrays that the memory ceilings share."""

import time
from collections.abc import Callable

import psutil
import torch
from msgspec import Struct

from profiling.devices import Device, DeviceKind

MIB = 2**20
_NOISE_COUNT = 2**20  # elements; every array is a whole number of copies of one noise


class Pace(Struct, frozen=True):
    """How a device is timed: blocks long enough for its clock, few enough for the user's patience."""

    block_s: float
    repeats: int
    least_repeats: int
    budget_s: float  # no new block after this, once there are least_repeats
    pause_s: float  # between matrix blocks: a burst must not meet the power cap
    matmul_sides: tuple[int, ...]
    matmul_call_s: float  # a larger matrix is tried only if one call is expected to stay below this


PACES = {
    # 5 ms: the 2 us of launch and event at either end vanish.
    DeviceKind.CUDA: Pace(5e-3, 21, 11, 2.0, 0.02, (1024, 2048, 4096, 8192), 0.04),
    DeviceKind.CPU: Pace(2e-2, 21, 5, 0.6, 0.0, (256, 512, 1024, 2048, 4096), 0.15),
}


class Bench:
    """One device under measurement, and the arrays that all memory ceilings share."""

    def __init__(self, device: Device, should_stop: Callable[[], bool]) -> None:
        self.device = device
        self.torch_device = torch.device(device.id)
        self.pace = PACES[device.kind]
        self._should_stop = should_stop
        self._arrays: tuple[torch.Tensor, ...] = ()

    @property
    def is_cuda(self) -> bool:
        return self.device.kind is DeviceKind.CUDA

    def arrays(self) -> tuple[torch.Tensor, ...]:
        """Three equal float32 arrays of noise, made at the first call.

        Noise and not zeros: zeros draw less power and can be compressed on their way to DRAM.
        """
        if not self._arrays:
            free = torch.cuda.mem_get_info(self.torch_device)[0] if self.is_cuda else self._free_ram()
            copies = array_bytes(self.device, free) // (4 * _NOISE_COUNT)
            noise = torch.empty(_NOISE_COUNT, device=self.torch_device).uniform_(-1, 1)
            self._arrays = tuple(noise.repeat(copies) for _ in range(3))
        return self._arrays

    def _free_ram(self) -> int:
        available = psutil.virtual_memory().available
        return min(available, self.device.memory_bytes or available)

    def release_arrays(self) -> None:
        self._arrays = ()
        if self.is_cuda:
            torch.cuda.empty_cache()

    def block_times_s(self, call: Callable[[], object], pause_s: float = 0.0) -> list[float]:
        """Seconds a call in each block, in the order measured; cut short when the user stops."""
        call()  # first touch: page faults, cuBLAS handles, lazily loaded kernels
        calls = max(1, round(self.pace.block_s / self.seconds_per_call(call, 2)))
        started = time.monotonic()
        times: list[float] = []
        while len(times) < self.pace.repeats and not self._should_stop():
            times.append(self.seconds_per_call(call, calls))
            over = time.monotonic() - started > self.pace.budget_s
            if over and len(times) >= self.pace.least_repeats:
                break
            time.sleep(pause_s)
        return times or [self.seconds_per_call(call, calls)]

    def seconds_per_call(self, call: Callable[[], object], calls: int) -> float:
        """Mean over one block of calls: CUDA events round it, or wall clock on a CPU."""
        if not self.is_cuda:
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            return (time.perf_counter() - begin) / calls
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        call()  # keeps the GPU busy while the block is queued behind it
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / calls


def array_bytes(device: Device, free_bytes: int) -> int:
    """Bytes of one of the three arrays: at least 4 x the last cache level, if the memory allows it.

    A GPU gets up to 4 GiB each (a kernel's start and end then vanish) but at most a quarter of its
    free memory in all; a CPU, whose bandwidth is low, the least, and at most an eighth in all.
    """
    is_cuda = device.kind is DeviceKind.CUDA
    least = max(4 * (device.last_level_cache_bytes or 0), (256 if is_cuda else 64) * MIB)
    affordable = free_bytes // (4 if is_cuda else 8) // 3
    wanted = max(least, 4096 * MIB) if is_cuda else least
    unit = 4 * _NOISE_COUNT
    return max(1, min(wanted, affordable) // unit) * unit
