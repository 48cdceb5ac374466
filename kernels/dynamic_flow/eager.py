"""The branch on the data as PyTorch users write it: Python asks the GPU for the sum, waits, and decides.

For torch.compile ``item`` is a graph break, and each branch is compiled when it is first taken.
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """The function that the sign of the sum of ``x``, (n,), chooses."""
    if x.sum().item() > 0:
        return x / (1 + torch.exp(-x))
    return x * torch.rsqrt(1 + x * x)
