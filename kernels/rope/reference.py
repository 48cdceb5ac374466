"""Float64 reference of the rotary embedding, rotate-half form (Su et al., arXiv:2104.09864)."""

import torch


def run(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn ``x``, (batch, heads, seq, 2 half), by ``cos`` and ``sin``, (seq, half), in float64."""
    x, cos, sin = x.double(), cos.double(), sin.double()
    half = cos.shape[1]
    y = torch.empty_like(x)
    y[..., :half] = x[..., :half] * cos - x[..., half:] * sin
    y[..., half:] = x[..., half:] * cos + x[..., :half] * sin
    return y
