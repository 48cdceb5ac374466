"""Counts what compiles, tunes or allocates in a timed region, where nothing should.

A replayed graph cannot do any of it. Queued calls and calls on a CPU can, and a run in which they did has
timed the compiler.
"""

import sys
from typing import Any, NamedTuple

import torch


class Activity(NamedTuple):
    """Counts since the process began."""

    graphs_compiled: int
    kernels_compiled: int
    device_allocations: int

    def since(self, before: "Activity") -> str:
        """What happened since then, in words; empty when nothing did."""
        grown = [now - then for now, then in zip(self, before, strict=True)]
        words = ("torch.compile graphs compiled", "Triton kernels compiled", "device allocations")
        return ", ".join(f"{count} {word}" for count, word in zip(grown, words, strict=True) if count > 0)


class ActivityCounter:
    """Watches Dynamo, Triton and the device allocator."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._kernels = 0
        self._hook_triton()

    def read(self) -> Activity:
        return Activity(_dynamo_graphs(), self._kernels, self._allocations())

    def _hook_triton(self) -> None:
        # Only where a kernel has imported Triton already: a CPU run must not pay for its import.
        triton: Any = sys.modules.get("triton")
        if triton is not None and hasattr(triton, "knobs"):
            triton.knobs.runtime.jit_post_compile_hook = self._count_kernel

    def _count_kernel(self, *_: object, **__: object) -> None:
        self._kernels += 1

    def _allocations(self) -> int:
        if self._device.type != "cuda":
            return 0
        return torch.cuda.memory_stats(self._device).get("num_device_alloc", 0)


def _dynamo_graphs() -> int:
    dynamo: Any = sys.modules.get("torch._dynamo.utils")
    return int(dynamo.counters["stats"]["unique_graphs"]) if dynamo else 0
