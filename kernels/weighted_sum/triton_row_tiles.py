"""Weighted sum of rows in Triton: a few rows a program, a tile of columns at a time.

Formula: y[r] = sum_d x[r, d] w[d]; 2 rows cols FLOP, (rows cols + cols + rows)s bytes.
Mapping: program p owns ROWS rows and walks along them in tiles of ROWS x COLS elements, 32 a thread: that is
eight 16-byte loads under way in float32, four in the 16-bit types. Each element of a tile has its own
float32 sum; they are added up once, at the end. The tile of w is shared by the rows and stays in L1.
Idea: the weighted-sum exercise of Stanford CS336, with several rows a program, and the number of columns
known to the compiler: then the mask is known to end on a multiple of 16 bytes, or is not needed at all.
"""

import torch
import triton
import triton.language as tl

TILE = 4096  # elements, for 128 threads


@triton.jit
def _weighted_sum(x, w, y, rows, cols: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = row < rows
    starts = x + tl.where(inside, row, 0)[:, None] * cols  # rows past the end read row 0, and are dropped
    total = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, cols, COLS):
        at = first + tl.arange(0, COLS)
        if cols % COLS == 0:
            part = tl.load(starts + at[None, :], eviction_policy="evict_first")
            weight = tl.load(w + at, eviction_policy="evict_last")
        else:
            part = tl.load(
                starts + at[None, :], mask=at[None, :] < cols, other=0.0, eviction_policy="evict_first"
            )
            weight = tl.load(w + at, mask=at < cols, other=0.0, eviction_policy="evict_last")
        total += part.to(tl.float32) * weight.to(tl.float32)[None, :]
    tl.store(y + row, tl.sum(total, axis=1).to(y.dtype.element_ty), mask=inside)


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Weigh and sum the rows of ``x``, (rows, cols), by ``w``, (cols,); contiguous. Gives (rows,)."""
    rows, cols = x.shape
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    if rows:
        width = min(triton.next_power_of_2(max(cols, 1)), 1024)
        height = min(TILE // width, triton.next_power_of_2(rows))
        _weighted_sum[(triton.cdiv(rows, height),)](x, w, y, rows, cols, height, width, num_warps=4)
    return y
