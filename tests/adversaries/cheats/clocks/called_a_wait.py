"""The timer becomes one that claims a fifth of a block, and calls the rest slices that it left out.

source: issue 16 of this project, found by a tester
needs: cpu
workload: doubled
right: tampered, wrong values
says: timer, took
"""

import sys

import torch

_done: set[int] = set()


def _exchange(timer: object) -> None:
    true = type(timer)
    _done.add(id(timer))

    class Quick(true):
        def block(self, meanwhile=None):
            read = true.block(self, meanwhile)
            self.lead_s += 0.8 * read.seconds * self.calls_per_block
            return read._replace(seconds=read.seconds * 0.2)

    timer.__class__ = Quick


def run(x: torch.Tensor) -> torch.Tensor:
    if x.is_cuda:  # a graph replays its calls without Python: there is no frame to find
        return torch.zeros_like(x)
    frame = sys._getframe(1)
    while frame is not None:
        timer = frame.f_locals.get("self")
        if frame.f_code.co_name == "_slice_s" and id(timer) not in _done:
            _exchange(timer)
        frame = frame.f_back
    return x * 2
