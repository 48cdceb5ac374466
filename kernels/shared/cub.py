"""CUB by cuda.compute, of the package cuda-cccl: how an algorithm made there is called on torch's memory.

NVRTC compiles it when it is first made for its types, in seconds, and it is kept in the process alone.
Nothing is tuned: CUB has policies by architecture and type.
"""

from collections.abc import Callable
from typing import Any

import torch


class _CurrentStream:
    """Torch's, by the protocol that cuda.compute asks for; without it the work would not be in a graph."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, torch.cuda.current_stream().cuda_stream


def call(algorithm: Callable[..., int], **arguments: Any) -> None:
    """Once for the size of what it keeps in between, and once for the work, as CUB's own functions do.

    Of torch's memory, not of the driver's pool that cuda.compute takes by itself: a graph may be captured.
    """
    arguments["stream"] = _CurrentStream()
    byte_count = algorithm(temp_storage=None, **arguments)
    storage = torch.empty(max(byte_count, 1), dtype=torch.uint8, device="cuda")
    algorithm(temp_storage=storage, **arguments)
