"""A bias as kernels read it that take it by pairs."""

import torch
from torch.nn import functional


def in_pairs(bias: torch.Tensor) -> torch.Tensor:
    """The bias, or a longer copy where it is not of whole pairs that begin on 4 bytes."""
    if bias.numel() % 2 or bias.data_ptr() % 4:
        return functional.pad(bias, (0, 2 - bias.numel() % 2))
    return bias
