"""A device whose ceilings are measured: how it is timed, and the arrays that the memory ceilings share."""

import time
from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from msgspec import Struct

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.worker.ceilings.block_times import Block, BlockTimes
from roofscope.profiling.worker.ceilings.neighbours import neighbour_counter
from roofscope.profiling.worker.ceilings.probes import Probes, load_probes
from roofscope.profiling.worker.ceilings.watch import Clock, Watch
from roofscope.profiling.worker.environment import free_bytes
from roofscope.profiling.worker.timing.energy import cuda_mark
from roofscope.profiling.worker.timing.gpu_clock import gpu_clock
from roofscope.profiling.worker.timing.telemetry import state_reader

MIB = 2**20
_NOISE_COUNT = 2**20  # elements; every array is a whole number of copies of one noise
_HOLD_BATCH_S = 0.05  # calls queued at once while a load is held


class Pace(Struct, frozen=True):
    """How a device is timed: blocks long enough for its clock, few enough for the user's patience."""

    block_s: float
    repeats: int
    least_repeats: int
    budget_s: float  # no new block after this, once there are ``least_repeats``
    pause_s: float  # before each burst, so that it does not meet the power cap
    matmul_sides: tuple[int, ...]
    matmul_call_s: float  # a larger matrix is tried only if one call is expected to stay below this
    passes: int = 1  # over all ceilings; the best reading counts
    settle_s: float = 0.0
    held_s: float = 0.0  # of a sustained load, after it has settled; with 0 none is measured


PACES = {
    # In 5 ms, the 2 us of launch and event at either end vanish.
    DeviceKind.CUDA: Pace(5e-3, 9, 5, 2.0, 0.04, (1024, 2048, 4096, 8192), 0.04, settle_s=1.0, held_s=2.0),
    # Two passes, so that another program's busy moment does not pass for this machine's limit.
    DeviceKind.CPU: Pace(2e-2, 15, 5, 0.35, 0.0, (256, 512, 1024, 2048, 4096), 0.15, passes=2),
}


class Testbed:
    """One device under measurement, and the arrays that all memory ceilings share."""

    def __init__(self, device: Device, should_stop: Callable[[], bool]) -> None:
        self.device = device
        self.torch_device = torch.device(device.id)
        self.pace = PACES[device.kind]
        self._should_stop = should_stop
        self._read_state = state_reader(device)
        self.count_neighbours = neighbour_counter(device)
        self._arrays: tuple[torch.Tensor, ...] = ()

    @property
    def is_cuda(self) -> bool:
        return self.device.kind is DeviceKind.CUDA

    @cached_property
    def own_kernels(self) -> tuple[Probes | None, str]:
        """Our probes, or None and one sentence on why there are none ("" on a CPU, which needs none)."""
        return load_probes(self.torch_device) if self.is_cuda else (None, "")

    @cached_property
    def clock(self) -> Clock | None:
        """The SM clock in band; None on a CPU and without cuda.core: the driver's samples have to do."""
        return gpu_clock(self.torch_device)

    def watch(self) -> Watch:
        return Watch(self.clock, self._read_state, self.pace.block_s / 4)

    def arrays(self) -> tuple[torch.Tensor, ...]:
        """Three equal float32 arrays of noise, made at the first call.

        They hold noise, because zeros draw less power and can be compressed on their way to DRAM.
        """
        if not self._arrays:
            copies = array_bytes(self.device, free_bytes(self.device)) // (4 * _NOISE_COUNT)
            noise = torch.empty(_NOISE_COUNT, device=self.torch_device).uniform_(-1, 1)
            self._arrays = tuple(noise.repeat(copies) for _ in range(3))
        return self._arrays

    def release_arrays(self) -> None:
        self._arrays = ()
        if self.is_cuda:
            torch.cuda.empty_cache()

    def time_blocks(self, call: Callable[[], object], pause_s: float = 0.0) -> BlockTimes:
        """Time several blocks of calls; a stop by the user cuts it short.

        A block under a slowdown, such as that of heat, does not count; as many again are tried.
        """
        call()  # first touch: page faults, cuBLAS handles, lazily loaded kernels
        calls = max(1, round(self.pace.block_s / self.seconds_per_call(call, 2)))
        started = time.monotonic()
        blocks: list[Block] = []
        while not blocks or (_is_short_of(blocks, self.pace.repeats) and not self._should_stop()):
            time.sleep(pause_s)
            watch = self.watch()
            seconds = self.seconds_per_call(call, calls, watch)
            blocks.append(Block(seconds, watch.clock_hz, tuple(watch.states)))
            over = time.monotonic() - started > self.pace.budget_s
            if over and len(blocks) >= self.pace.least_repeats:
                break
        return BlockTimes.of(blocks)

    def seconds_per_call(self, call: Callable[[], object], calls: int, watch: Watch | None = None) -> float:
        """Mean over one block of calls: CUDA events round it, or wall clock on a CPU.

        ``watch`` observes a GPU while it works on the block.
        """
        if not self.is_cuda:
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            return (time.perf_counter() - begin) / calls
        call()  # keeps the GPU busy while the block is queued behind it
        if watch:
            watch.begin()
        start = cuda_mark()
        for _ in range(calls):
            call()
        end = cuda_mark()
        if watch:
            watch.end()
            last = cuda_mark()
            watch.look_until(end)
            last.synchronize()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / calls

    def hold(self, call: Callable[[], object]) -> BlockTimes:
        """The mean time of a call under a load held for ``held_s``, after ``settle_s`` of the same.

        It is for a GPU. The next batch is queued before the last one ends, so that the device never rests.
        The clock is the mean over the same time.
        """
        calls = max(1, round(_HOLD_BATCH_S / self.seconds_per_call(call, 2)))
        marks = [cuda_mark()]
        watch = self.watch()

        def work(seconds: float, look: Callable[[], object]) -> None:
            until = time.monotonic() + seconds
            while True:
                for _ in range(calls):
                    call()
                marks.append(cuda_mark())
                marks[-2].synchronize()
                look()
                if time.monotonic() >= until or self._should_stop():
                    return

        work(self.pace.settle_s, lambda: None)
        settled = len(marks) - 1
        watch.begin()
        work(self.pace.held_s, watch.look)
        watch.end()
        cuda_mark().synchronize()
        elapsed_s = marks[settled].elapsed_time(marks[-1]) / 1e3
        seconds = elapsed_s / calls / (len(marks) - 1 - settled)
        return BlockTimes.of([Block(seconds, watch.clock_hz, tuple(watch.states))])


def _is_short_of(blocks: Sequence[Block], wanted: int) -> bool:
    """Whether sound blocks are wanting, and twice as many in all have not been tried."""
    return sum(not block.is_slowed for block in blocks) < wanted and len(blocks) < 2 * wanted


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
