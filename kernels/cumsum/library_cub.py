"""Running sums by CUB's DeviceScan, which looks back. cuda.compute has no scan by segments: one row only."""

import torch
from cuda.compute import OpKind, make_inclusive_scan

from roofscope import Refusal
from roofscope.kernels.shared.cub import call

DOMAIN = "rows == 1"


def run(x: torch.Tensor) -> torch.Tensor:
    """Running sums of each row of ``x``, (rows, cols)."""
    if x.shape[0] != 1:
        raise Refusal(f"CUB, as cuda.compute has it, scans one row, not {x.shape[0]}.")
    if x.dtype != torch.float32:
        raise Refusal("CUB, as cuda.compute has it, is compared on float32: 16 bits would be summed in 16.")
    y = torch.empty_like(x)
    if x.numel():
        arrays = {"d_in": x.view(-1), "d_out": y.view(-1), "op": OpKind.PLUS, "init_value": None}
        call(make_inclusive_scan(**arrays), **arrays, num_items=x.numel())
    return y
