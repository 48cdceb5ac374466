"""GELU in its tanh form as PyTorch users write it: one kernel, 2n elements moved."""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (n,)."""
    return torch.nn.functional.gelu(x, approximate="tanh")
