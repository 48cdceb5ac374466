"""Rows times 4-bit weights in float64: the judge, never timed."""

import torch


def run(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    codes = torch.cat((packed % 16, packed // 16), dim=2).double() - 8
    weights = (codes * scale.double()[:, :, None]).flatten(1)
    return x.double() @ weights.T
