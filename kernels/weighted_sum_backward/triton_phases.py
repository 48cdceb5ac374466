"""Gradients of the weighted sum of rows in Triton, in two phases: one that reads and one that writes.

Formula: dx[r, d] = dy[r] w[d], dw[d] = sum_r dy[r] x[r, d]; 3 rows cols FLOP, 2 rows cols s bytes and
little more.
Mapping: program (p, c) of the first kernel reads HEIGHT rows of panel p of x in tiles of ROWS x COLS, each
element of a tile with a sum of its own, and leaves sums of columns. The second kernel writes dx, a tile a
program; its first programs add the sums of all chunks up to dw, in the same order at every call.
Idea: dx needs nothing of x. Memory that is only read and then only written never turns round between the
two, see cuda_phases. Column sums in two stages as in the norms' gradients.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
TILE = 4096  # elements, for 128 threads
WIDEST = 1024  # columns of a tile
MOST_PARTS = 1024


@triton.jit
def _column_parts(
    dy, x, partial, rows, cols: tl.constexpr, HEIGHT: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr
):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    part = tl.program_id(1).to(tl.int64)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, HEIGHT, ROWS):
        row = part * HEIGHT + first + tl.arange(0, ROWS)
        gradient = tl.load(dy + row, mask=row < rows, other=0.0).to(tl.float32)
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        value = tl.load(x + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
        total += gradient[:, None] * value.to(tl.float32)
    tl.store(partial + part * cols + col, tl.sum(total, axis=0), mask=col < cols)


@triton.jit
def _total(partial, dw, first_col, parts, cols: tl.constexpr, PARTS: tl.constexpr, COLS: tl.constexpr):
    col = first_col + tl.arange(0, COLS)
    total = tl.zeros((PARTS, COLS), tl.float32)
    for first in range(0, parts, PARTS):
        part = first + tl.arange(0, PARTS)
        inside = (part < parts)[:, None] & (col < cols)[None, :]
        total += tl.load(partial + part[:, None] * cols + col[None, :], mask=inside, other=0.0)
    tl.store(dw + col, tl.sum(total, axis=0).to(dw.dtype.element_ty), mask=col < cols)


@triton.jit
def _outer(dy, w, dx, tile, rows, cols: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    panels = tl.cdiv(cols, COLS)
    row = (tile // panels).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = tile % panels * COLS + tl.arange(0, COLS)
    gradient = tl.load(dy + row, mask=row < rows, other=0.0).to(tl.float32)
    weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    value = (gradient[:, None] * weight[None, :]).to(dx.dtype.element_ty)
    tl.store(dx + row[:, None] * cols + col[None, :], value, mask=inside)


@triton.jit
def _total_and_outer(
    dy,
    w,
    partial,
    dx,
    dw,
    parts,
    rows,
    cols: tl.constexpr,
    PARTS: tl.constexpr,
    SUMS: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
):
    program = tl.program_id(0)
    totals = tl.cdiv(cols, SUMS)
    if program < totals:
        _total(partial, dw, program * SUMS, parts, cols, PARTS, SUMS)
    else:
        _outer(dy, w, dx, program - totals, rows, cols, ROWS, COLS)


def run(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """From ``dy``, (rows,), ``x``, (rows, cols), and ``w``, (cols,), contiguous, to dx and dw."""
    rows, cols = x.shape
    require_32_bit_sizes("weighted_sum_backward/triton_phases", rows, cols)
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    if not cols:
        return dx, dw
    width = min(triton.next_power_of_2(cols), WIDEST)
    height = min(TILE // width, triton.next_power_of_2(max(rows, 1)))
    panels = triton.cdiv(cols, width)
    # Steps in powers of two: each number of them is a program of its own to the compiler.
    steps = triton.next_power_of_2(max(1, triton.cdiv(rows * panels, height * MOST_PARTS)))
    parts = triton.cdiv(rows, height * steps)
    partial = torch.empty(parts, cols, dtype=torch.float32, device=x.device)
    if parts:
        grid = (panels, parts)
        _column_parts[grid](dy, x, partial, rows, cols, height * steps, height, width, num_warps=4)
    sums = min(triton.next_power_of_2(cols), 64)
    grid = (triton.cdiv(cols, sums) + panels * triton.cdiv(rows, height),)
    _total_and_outer[grid](dy, w, partial, dx, dw, parts, rows, cols, 64, sums, height, width, num_warps=4)
    return dx, dw
