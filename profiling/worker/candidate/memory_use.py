"""What one call allocates, as torch's own allocator counts it.

It counts in the process that runs foreign code, and nothing outside sees what a caching allocator does with
memory that it holds. So this is that process's own word: the referee takes it where it is possible at all
(``plausible``), and no verdict rests on it.
"""

from typing import Protocol

import torch

from roofscope.profiling.results.outcome import MemoryUse
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.inputs import InputSet

_MOST_BYTES = 1 << 50  # where nobody knows how much the device has


class Allocator(Protocol):
    """As ``torch.cuda`` has it."""

    def memory_allocated(self, device: torch.device) -> int: ...

    def max_memory_allocated(self, device: torch.device) -> int: ...

    def reset_peak_memory_stats(self, device: torch.device) -> None: ...


def memory_use(call: Call, inputs: InputSet, device: torch.device, allocator: Allocator) -> MemoryUse:
    """Of a call that is settled: what it allocated at most, and what of it was left in what it returned.

    Both are counted in the allocator's blocks, whose rounding then cancels. Memory that an implementation
    took at an earlier call and kept, such as the pool of a graph that it replays, is not among it.
    """
    before = int(allocator.memory_allocated(device))
    allocator.reset_peak_memory_stats(device)
    outputs = call(*inputs)
    held, most = int(allocator.memory_allocated(device)), int(allocator.max_memory_allocated(device))
    del outputs  # until now, so that they are counted
    return MemoryUse(peak_bytes=max(most - before, 0), output_bytes=max(held - before, 0))


def plausible(memory: MemoryUse | None, device_bytes: int | None) -> MemoryUse | None:
    """The figures if they can be true, of a device with so much memory; else None."""
    if memory is None or not 0 <= memory.output_bytes <= memory.peak_bytes <= (device_bytes or _MOST_BYTES):
        return None
    return memory
