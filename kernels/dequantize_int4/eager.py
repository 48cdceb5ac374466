"""4-bit codes back to numbers as PyTorch users write it, the product taken in float32."""

import torch


def run(packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """The numbers of ``packed``, (rows, groups, group/2), by the ``scale``, (rows, groups), of each group."""
    wide = torch.promote_types(scale.dtype, torch.float32)
    codes = torch.cat((packed & 15, packed >> 4), dim=2)
    return ((codes.to(wide) - 8) * scale.to(wide)[:, :, None]).to(scale.dtype)
