"""Rows times 4-bit weights as PyTorch users write it: 16-bit weights are made, then cuBLAS multiplies."""

import torch


def run(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    codes = torch.cat((packed & 15, packed >> 4), dim=2)
    weights = (codes.to(x.dtype) - 8) * scale[:, :, None]
    return torch.matmul(x, weights.flatten(1).T)
