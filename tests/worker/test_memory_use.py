"""What a call allocates, counted on an allocator that plays torch's."""

import torch

from roofscope.profiling.results.outcome import MemoryUse
from roofscope.profiling.worker.candidate.memory_use import memory_use

DEVICE = torch.device("cuda:0")


class Counting:
    """An allocator with a gigabyte in use before, and a peak of two from long ago."""

    def __init__(self) -> None:
        self.now, self.most = 1 << 30, 2 << 30

    def take(self, byte_count: int) -> None:
        self.now += byte_count
        self.most = max(self.most, self.now)

    def memory_allocated(self, device: torch.device) -> int:
        assert device == DEVICE
        return self.now

    def max_memory_allocated(self, device: torch.device) -> int:
        assert device == DEVICE
        return self.most

    def reset_peak_memory_stats(self, device: torch.device) -> None:
        assert device == DEVICE
        self.most = self.now


def test_temporary_is_the_peak_without_what_is_returned():
    allocator = Counting()

    def call(x: torch.Tensor) -> torch.Tensor:
        allocator.take(300)
        allocator.take(500)
        allocator.take(-300)  # freed before it returns
        return x

    found = memory_use(call, (torch.zeros(1),), DEVICE, allocator)
    assert found == MemoryUse(peak_bytes=800, output_bytes=500)
    assert found.temporary_bytes == 300


def test_a_call_that_allocates_its_output_only_has_no_temporary():
    allocator = Counting()

    def call(x: torch.Tensor) -> torch.Tensor:
        allocator.take(512)
        return x

    found = memory_use(call, (torch.zeros(1),), DEVICE, allocator)
    assert (found.output_bytes, found.temporary_bytes) == (512, 0)


def test_memory_that_shrinks_meanwhile_is_no_negative_count():
    allocator = Counting()

    def call(x: torch.Tensor) -> torch.Tensor:
        allocator.take(-4096)  # of an earlier call, given back
        return x

    assert memory_use(call, (torch.zeros(1),), DEVICE, allocator) == MemoryUse(0, 0)
