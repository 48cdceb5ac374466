"""Gradient of layer norm in Triton: a persistent grid keeps the sums over columns in registers.

Formula: with h = (x - mean_r) rstd_r and g = dy w: dx = rstd_r (g - mean_c g - h mean_c(g h)), dw[c] =
sum_r dy h, db[c] = sum_r dy. 12 rows cols FLOP, (3 rows cols + 3 cols) s + 8 rows bytes.
Mapping: a few programs a multiprocessor walk along the rows in tiles of ROWS x WIDTH, WIDTH the next power
of two of the row's length and ROWS > 1 for short rows; each keeps its columns' sums in float32 and writes
them to `partial`, (2, programs, cols). A second kernel adds those up, always in the same order. Past 8192
columns the sums overflow the registers: there another kernel takes them, of strips of columns and runs of
rows, and reads dy and x once more. Where rows are few and short one launch does everything: some programs
sum columns over all rows while others own rows, and dy and x are read twice.
Idea: dx and the sums over rows by the same programs, which cuda_naive has apart: the backward pass of
Triton's layer norm tutorial, without its locks.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import MOST_SUMMED_IN_TILE, require_row_in_tile
from roofscope.kernels.shared.norm_tiles import (
    MORE_WARPS,
    SUM_COLS,
    WARPS_AT_ONCE,
    begins_between,
    has_more_at_once,
    stay_tile,
    sum_tile,
)

DOMAIN = "cols <= 2**15"
INTERPRETED_PROGRAMS = 3  # on a CPU, where there are no multiprocessors to count
LONGEST_SUMS = 8192  # columns
STAGES_OF_LONG, FEWEST_STAGED = 3, 4096  # rows under way of such a program, alone on a multiprocessor
# Half as many warps for so few columns of a tile of so many: what is masked off takes a warp no time, and
# twice as many rows are under way.
HALF_EMPTY, FEW_OF_HALF_EMPTY = 4096, 2560
RUNS = 16  # of rows, where sums are taken apart
STRIP_ROWS, STRIP_COLS = 16, 128  # the tile of the kernel that takes them
FEW_ROWS = 512  # of up to FEW_TILE columns, for which one launch does everything
FEW_TILE, FEW_STRIP = 1024, 4096  # elements of its tiles of rows, and of all rows by some columns;
MORE_ROWS = 264  # than these, tiles twice as large: more programs would only begin later


@triton.jit
def _terms(dy, x, mean, rstd, row, exists, col, cols: tl.constexpr):
    """dy, h and rstd of some rows and columns, zeros outside the matrix."""
    at = row.to(tl.int64)[:, None] * cols + col[None, :]
    inside = exists[:, None] & (col[None, :] < cols)
    gradient = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    centre = tl.load(mean + row, mask=exists, other=0.0)
    scale = tl.load(rstd + row, mask=exists, other=0.0)
    return gradient, (value - centre[:, None]) * scale[:, None], scale


@triton.jit
def _row_gradient(gradient, normal, scale, weight, cols: tl.constexpr):
    """The gradient dx of whole rows."""
    weighted = gradient * weight[None, :]
    level = tl.sum(weighted, axis=1) / cols
    slope = tl.sum(weighted * normal, axis=1) / cols
    return scale[:, None] * (weighted - level[:, None] - normal * slope[:, None])


@triton.jit
def _backward(
    dy,
    x,
    w,
    mean,
    rstd,
    dx,
    partial,
    rows,
    cols: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    SUMS: tl.constexpr,
    STAGES: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    programs = tl.num_programs(0)
    col = tl.arange(0, WIDTH)
    weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
    if SUMS:
        dw = tl.zeros((ROWS, WIDTH), tl.float32)
        db = tl.zeros((ROWS, WIDTH), tl.float32)
    for tile in tl.range(program, tl.cdiv(rows, ROWS), programs, num_stages=STAGES):
        row = tile * ROWS + tl.arange(0, ROWS)
        at = row[:, None] * cols + col[None, :]
        inside = (row[:, None] < rows) & (col[None, :] < cols)
        if cols == WIDTH and ROWS == 1:
            gradient = tl.load(dy + at).to(tl.float32)
            value = tl.load(x + at).to(tl.float32)
        else:
            gradient = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
            value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        centre = tl.load(mean + row, mask=row < rows, other=0.0)
        scale = tl.load(rstd + row, mask=row < rows, other=0.0)
        normal = (value - centre[:, None]) * scale[:, None]
        if SUMS:
            dw += gradient * normal
            db += gradient
        result = _row_gradient(gradient, normal, scale, weight, cols)
        if cols == WIDTH and ROWS == 1:
            tl.store(dx + at, result.to(dx.dtype.element_ty))
        else:
            tl.store(dx + at, result.to(dx.dtype.element_ty), mask=inside)
    if SUMS:
        tl.store(partial + program * cols + col, tl.sum(dw, axis=0), mask=col < cols)
        tl.store(partial + (programs + program) * cols + col, tl.sum(db, axis=0), mask=col < cols)


@triton.jit
def _strips(
    dy, x, mean, rstd, partial, rows, run, cols: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr
):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    start = tl.program_id(1).to(tl.int64) * run
    dw = tl.zeros((ROWS, COLS), tl.float32)
    db = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, run, ROWS):
        row = start + first + tl.arange(0, ROWS)
        exists = (row < rows) & (row < start + run)
        gradient, normal, _ = _terms(dy, x, mean, rstd, row, exists, col, cols)
        dw += gradient * normal
        db += gradient
    out = partial + tl.program_id(1) * cols + col
    tl.store(out, tl.sum(dw, axis=0), mask=col < cols)
    tl.store(out + tl.num_programs(1) * cols, tl.sum(db, axis=0), mask=col < cols)


@triton.jit
def _columns(partial, dw, db, parts, cols: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    start = partial + tl.program_id(1) * parts * cols
    total = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, parts, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row[:, None] < parts) & (col[None, :] < cols)
        total += tl.load(start + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
    out = tl.sum(total, axis=0).to(dw.dtype.element_ty)
    if tl.program_id(1) == 0:
        tl.store(dw + col, out, mask=col < cols)
    else:
        tl.store(db + col, out, mask=col < cols)


@triton.jit
def _few_rows(
    dy,
    x,
    w,
    mean,
    rstd,
    dx,
    dw,
    db,
    rows,
    cols: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    ALL_ROWS: tl.constexpr,
    COLS: tl.constexpr,
):
    """All in one launch: some programs own rows of dx, the others a strip of columns of dw and db each."""
    tiles = tl.cdiv(rows, ROWS)
    program = tl.program_id(0)
    if program < tiles:
        row = program * ROWS + tl.arange(0, ROWS)
        col = tl.arange(0, WIDTH)
        weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
        gradient, normal, scale = _terms(dy, x, mean, rstd, row, row < rows, col, cols)
        result = _row_gradient(gradient, normal, scale, weight, cols)
        at = row.to(tl.int64)[:, None] * cols + col[None, :]
        inside = (row[:, None] < rows) & (col[None, :] < cols)
        tl.store(dx + at, result.to(dx.dtype.element_ty), mask=inside)
    else:
        of_strip = (program - tiles) * COLS + tl.arange(0, COLS)
        every = tl.arange(0, ALL_ROWS)
        dys, normals, _ = _terms(dy, x, mean, rstd, every, every < rows, of_strip, cols)
        tl.store(dw + of_strip, tl.sum(dys * normals, axis=0).to(dw.dtype.element_ty), mask=of_strip < cols)
        tl.store(db + of_strip, tl.sum(dys, axis=0).to(db.dtype.element_ty), mask=of_strip < cols)


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts."""
    rows, cols = x.shape
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    if cols == 0:
        return dx, dw, db
    require_row_in_tile("layer_norm_backward/triton_persistent", cols, MOST_SUMMED_IN_TILE)
    width = triton.next_power_of_2(cols)
    if 0 < rows <= FEW_ROWS and width <= FEW_TILE:
        all_rows = triton.next_power_of_2(rows)
        height = min((2 * FEW_TILE if rows > MORE_ROWS else FEW_TILE) // width, all_rows)
        strip = max(FEW_STRIP // all_rows, 16)
        grid = (triton.cdiv(rows, height) + triton.cdiv(cols, strip),)
        sizes = (rows, cols, height, width, all_rows, strip)
        _few_rows[grid](dy, x, w, mean, rstd, dx, dw, db, *sizes, num_warps=4)
        return dx, dw, db
    height = stay_tile(rows, width)
    with_sums = width <= LONGEST_SUMS
    warps = min(max(width // 512, 4), 16 if with_sums else 32)
    if width == HALF_EMPTY and cols <= FEW_OF_HALF_EMPTY and begins_between(cols):
        warps //= 2
    most = MORE_WARPS if has_more_at_once(cols, width) else WARPS_AT_ONCE
    programs = max(min(_programs_at_once(x.device, warps, most), triton.cdiv(rows, height)), 1)
    parts = programs if with_sums else RUNS
    partial = torch.empty((2, parts, cols), dtype=torch.float32, device=x.device)
    stages = STAGES_OF_LONG if width == LONGEST_SUMS and rows >= FEWEST_STAGED else 1
    sizes = (rows, cols, height, width, with_sums, stages)
    _backward[(programs,)](dy, x, w, mean, rstd, dx, partial, *sizes, num_warps=warps)
    if not with_sums:
        grid = (triton.cdiv(cols, STRIP_COLS), RUNS)
        sizes = (rows, triton.cdiv(rows, RUNS), cols, STRIP_ROWS, STRIP_COLS)
        _strips[grid](dy, x, mean, rstd, partial, *sizes, num_warps=4)
    grid = (triton.cdiv(cols, SUM_COLS), 2)
    sum_rows, sum_warps = sum_tile(parts)
    _columns[grid](partial, dw, db, parts, cols, sum_rows, SUM_COLS, num_warps=sum_warps)
    return dx, dw, db


def _programs_at_once(device: torch.device, warps: int, most: int) -> int:
    """As many of so many warps as a multiprocessor holds, which has room for ``most`` of them."""
    if device.type != "cuda":
        return INTERPRETED_PROGRAMS
    return torch.cuda.get_device_properties(device).multi_processor_count * max(most // warps, 1)
