"""Sums of rows by CUB: DeviceSegmentedReduce, a block a row, and DeviceReduce where there is only one.

It reads where rows begin from memory, eight bytes a row; these offsets are made once for a size.
"""

import functools

import numpy as np
import torch
from cuda.compute import OpKind, make_reduce_into, make_segmented_reduce

from roofscope import Refusal
from roofscope.kernels.shared.cub import call

DOMAIN = "rows < 2**31"
_ZERO = np.zeros(1, dtype=np.float32)


def run(x: torch.Tensor) -> torch.Tensor:
    """Sum of each row of ``x``, (rows, cols), as float32. Gives (rows,)."""
    rows, cols = x.shape
    if x.dtype != torch.float32:
        raise Refusal("CUB, as cuda.compute has it, is compared on float32: 16 bits would be summed in 16.")
    if rows >= 2**31:
        raise Refusal(f"CUB counts segments in 32 bits, and {rows} rows are more.")
    y = torch.zeros(rows, dtype=torch.float32, device=x.device) if not cols else x.new_empty(rows)
    if not x.numel():
        return y
    arrays = {"d_in": x.view(-1), "d_out": y, "op": OpKind.PLUS, "h_init": _ZERO}
    if rows == 1:
        call(make_reduce_into(**arrays), **arrays, num_items=cols)
        return y
    starts, ends = _offsets(rows, cols, x.device)
    arrays |= {"start_offsets_in": starts, "end_offsets_in": ends}
    call(make_segmented_reduce(**arrays), **arrays, num_segments=rows, max_segment_size=cols)
    return y


@functools.lru_cache(maxsize=8)
def _offsets(rows: int, cols: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Where each row begins and ends, in elements."""
    offsets = torch.arange(0, rows * cols + 1, cols, dtype=torch.int64, device=device)
    return offsets[:-1], offsets[1:]
