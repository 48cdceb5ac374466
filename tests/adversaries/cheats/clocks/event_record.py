"""The event that begins a block is recorded with the one that ends it.

source: https://deep-reinforce.com/defense_kernel_hack.html
needs: cuda
workload: doubled
right: tampered
says: record
"""

import torch

_true = torch.cuda.Event.record
_waiting: list[torch.cuda.Event] = []


def _late(self: torch.cuda.Event, stream: torch.cuda.Stream | None = None) -> None:
    _waiting.append(self)
    if len(_waiting) == 2:
        for event in _waiting:
            _true(event, stream or torch.cuda.current_stream())
        _waiting.clear()


torch.cuda.Event.record = _late


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
