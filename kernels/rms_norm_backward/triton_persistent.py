"""Gradient of RMS norm in Triton: a persistent grid keeps the sums over columns in registers.

Formula: with h = x rstd_r and g = dy w: dx = rstd_r (g - h mean_c(g h)), dw[c] = sum_r dy h. 9 rows cols
FLOP, (3 rows cols + 2 cols) s + 4 rows bytes.
Mapping: a few programs a multiprocessor walk along the rows in tiles of ROWS x WIDTH, WIDTH the next power
of two of the row's length and ROWS > 1 for short rows; each keeps its columns' sums in float32 and writes
them to `partial`, (programs, cols). A second kernel adds those up, always in the same order.
Idea: the backward pass of Triton's layer norm tutorial, without its locks.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import MOST_SUMMED_IN_TILE, require_row_in_tile
from roofscope.kernels.shared.norm_tiles import (
    MORE_WARPS,
    SUM_COLS,
    WARPS_AT_ONCE,
    has_more_at_once,
    stay_tile,
    sum_tile,
)

DOMAIN = "cols <= 2**15"
INTERPRETED_PROGRAMS = 3  # on a CPU, where there are no multiprocessors to count
# Warps, which keep the more sums the fewer they are, and wait the less for each other; of rows that begin
# anywhere and are read by single elements, and of few; of longer rows, that as many would not hold.
WARPS, WARPS_OF_ODD, WARPS_OF_FEW, LONGER_THAN, WARPS_OF_LONGER = 4, 8, 8, 8192, 32
ODD_WIDTH, LONG_WIDTH, FEWEST_LONG = 4096, 8192, 3072
PAIRED, FEWEST_PAIRED = 2048, 4096  # columns of a tile that has two rows, of at least so many


@triton.jit
def _backward(dy, x, w, rstd, dx, partial, rows, cols: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    programs = tl.num_programs(0)
    col = tl.arange(0, WIDTH)
    weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
    dw = tl.zeros((ROWS, WIDTH), tl.float32)
    for tile in range(program, tl.cdiv(rows, ROWS), programs):
        row = tile * ROWS + tl.arange(0, ROWS)
        at = row[:, None] * cols + col[None, :]
        inside = (row[:, None] < rows) & (col[None, :] < cols)
        if cols == WIDTH and ROWS == 1:
            gradient = tl.load(dy + at).to(tl.float32)
            value = tl.load(x + at).to(tl.float32)
        else:
            gradient = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
            value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.load(rstd + row, mask=row < rows, other=0.0)
        normal = value * scale[:, None]
        dw += gradient * normal
        weighted = gradient * weight[None, :]
        slope = tl.sum(weighted * normal, axis=1) / cols
        result = scale[:, None] * (weighted - normal * slope[:, None])
        if cols == WIDTH and ROWS == 1:
            tl.store(dx + at, result.to(dx.dtype.element_ty))
        else:
            tl.store(dx + at, result.to(dx.dtype.element_ty), mask=inside)
    tl.store(partial + program * cols + col, tl.sum(dw, axis=0), mask=col < cols)


@triton.jit
def _columns(partial, dw, parts, cols: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, parts, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row[:, None] < parts) & (col[None, :] < cols)
        total += tl.load(partial + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
    tl.store(dw + col, tl.sum(total, axis=0).to(dw.dtype.element_ty), mask=col < cols)


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    rows, cols = x.shape
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    if cols == 0:
        return dx, dw
    require_row_in_tile("rms_norm_backward/triton_persistent", cols, MOST_SUMMED_IN_TILE)
    width = triton.next_power_of_2(cols)
    lone = has_more_at_once(cols, width)
    height = 2 if width == PAIRED and rows >= FEWEST_PAIRED and not lone else stay_tile(rows, width)
    warps = warps_of(rows, cols, width)
    at_once = _programs_at_once(x.device, warps, MORE_WARPS if lone else WARPS_AT_ONCE)
    programs = max(min(at_once, triton.cdiv(rows, height)), 1)
    partial = torch.empty((programs, cols), dtype=torch.float32, device=x.device)
    _backward[(programs,)](dy, x, w, rstd, dx, partial, rows, cols, height, width, num_warps=warps)
    grid = (triton.cdiv(cols, SUM_COLS),)
    sum_rows, sum_warps = sum_tile(programs)
    _columns[grid](partial, dw, programs, cols, sum_rows, SUM_COLS, num_warps=sum_warps)
    return dx, dw


def warps_of(rows: int, cols: int, width: int) -> int:
    """Of a program of rows of ``cols`` columns, ``width`` in its tile."""
    if width > LONGER_THAN:
        return WARPS_OF_LONGER
    if width == LONG_WIDTH and rows < FEWEST_LONG:
        return WARPS_OF_FEW
    return WARPS_OF_ODD if width == ODD_WIDTH and cols % 2 else WARPS


def _programs_at_once(device: torch.device, warps: int, most: int) -> int:
    """As many of so many warps as a multiprocessor holds, which has room for ``most`` of them."""
    if device.type != "cuda":
        return INTERPRETED_PROGRAMS
    return torch.cuda.get_device_properties(device).multi_processor_count * max(most // warps, 1)
