"""Gradients of the weighted sum of rows in Triton, both in one pass over the rows.

Formula: dx[r, d] = dy[r] w[d], dw[d] = sum_r dy[r] x[r, d]; 3 rows cols FLOP, 2 rows cols s bytes and
little more.
Mapping: program (p, c) takes HEIGHT rows of panel p of the columns in tiles of ROWS x COLS: it reads x and
writes dx, and keeps a sum of its own for each element of the tile. A second kernel adds the sums of all
chunks up to dw.
Lesson: one pass is the rule where data is read twice. Here nothing is: dx does not come from x, and memory
which is read and written at once moves less than in two phases (triton_phases).
Idea: the backward of the weighted-sum exercise of Stanford CS336.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
TILE = 2048  # elements, for 128 threads
WIDEST = 1024  # columns of a tile
MOST_PARTS = 1024


@triton.jit
def _backward(
    dy,
    x,
    w,
    dx,
    partial,
    rows,
    cols: tl.constexpr,
    HEIGHT: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    part = tl.program_id(1).to(tl.int64)
    weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, HEIGHT, ROWS):
        row = part * HEIGHT + first + tl.arange(0, ROWS)
        gradient = tl.load(dy + row, mask=row < rows, other=0.0).to(tl.float32)
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        at = row[:, None] * cols + col[None, :]
        value = tl.load(x + at, mask=inside, other=0.0)
        tl.store(dx + at, (gradient[:, None] * weight[None, :]).to(dx.dtype.element_ty), mask=inside)
        total += gradient[:, None] * value.to(tl.float32)
    tl.store(partial + part * cols + col, tl.sum(total, axis=0), mask=col < cols)


@triton.jit
def _total(partial, dw, parts, cols: tl.constexpr, PARTS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros((PARTS, COLS), tl.float32)
    for first in range(0, parts, PARTS):
        part = first + tl.arange(0, PARTS)
        inside = (part < parts)[:, None] & (col < cols)[None, :]
        total += tl.load(partial + part[:, None] * cols + col[None, :], mask=inside, other=0.0)
    tl.store(dw + col, tl.sum(total, axis=0).to(dw.dtype.element_ty), mask=col < cols)


def run(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """From ``dy``, (rows,), ``x``, (rows, cols), and ``w``, (cols,), contiguous, to dx and dw."""
    rows, cols = x.shape
    require_32_bit_sizes("weighted_sum_backward/triton_fused", rows, cols)
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    if not cols:
        return dx, dw
    width = min(triton.next_power_of_2(cols), WIDEST)
    height = min(TILE // width, triton.next_power_of_2(max(rows, 1)))
    panels = triton.cdiv(cols, width)
    steps = triton.next_power_of_2(max(1, triton.cdiv(rows * panels, height * MOST_PARTS)))
    parts = triton.cdiv(rows, height * steps)
    partial = torch.empty(parts, cols, dtype=torch.float32, device=x.device)
    if parts:
        grid = (panels, parts)
        _backward[grid](dy, x, w, dx, partial, rows, cols, height * steps, height, width, num_warps=4)
    sums = min(triton.next_power_of_2(cols), 64)
    _total[(triton.cdiv(cols, sums),)](partial, dw, parts, cols, 64, sums, num_warps=4)
    return dx, dw
