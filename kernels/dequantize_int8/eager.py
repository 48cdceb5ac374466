"""8-bit codes back to numbers as PyTorch users write it, the product taken in float32."""

import torch


def run(q: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``q``, (rows, cols), times the ``scale``, (rows,), of each row, in the scale's dtype."""
    wide = torch.promote_types(scale.dtype, torch.float32)
    return (q.to(wide) * scale.to(wide)[:, None]).to(scale.dtype)
