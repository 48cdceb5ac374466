"""RMS norm and its rows in FP8 as PyTorch users write it: normalised in float32, and not rounded in between.

An infinity or NaN makes the scale of its row NaN, and the codes of that row mean nothing.
"""

import torch
from torch.nn import functional

EPSILON = 1e-6
LARGEST_CODE = 448.0


def run(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes of the normalised rows of ``x``, (rows, cols), and their scales, (rows,)."""
    wide = torch.promote_types(x.dtype, torch.float32)
    y = functional.rms_norm(x.to(wide), w.shape, w.to(wide), EPSILON)
    largest = y.abs().amax(dim=1, keepdim=True)
    scale = torch.where(largest == 0, 1.0, largest / LARGEST_CODE)
    return (y / scale).to(torch.float8_e4m3fn), scale[:, 0].contiguous()
