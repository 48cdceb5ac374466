"""Groups of numbers to 4-bit integers as PyTorch users write it, in float32: PyTorch has no operator for it.

7 x / largest rather than x / scale: in float32 the product of a 16-bit element is exact, and so are ties.
An infinity or NaN makes the scale of its group infinite or NaN, and the codes of that group mean nothing.
"""

import torch


def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed codes and scales of the groups of ``x``, (rows, groups, group)."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    largest = x.abs().amax(dim=2, keepdim=True)
    largest = torch.where(largest == 0, 7.0, largest)
    codes = torch.round(x * 7 / largest).clamp(-8, 7) + 8
    low, high = codes.to(torch.uint8).chunk(2, dim=2)
    return low | high << 4, largest[:, :, 0] / 7
