"""The rotary embedding as PyTorch users write it: seven kernels."""

import torch


def run(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn ``x``, (batch, heads, seq, 2 half), by ``cos`` and ``sin``, (seq, half)."""
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)
