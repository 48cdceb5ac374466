"""Gradients of the norms in Triton for rows of any length and number: norm_phases.cuh's three phases.

CENTRED is layer norm, which takes the mean of g off as well and has a second sum over rows, of dy.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes

PIECE_COLS, SHORTEST_PIECE_COLS = 4096, 1024  # columns of a tile of a piece;
FEW_PIECES = 64  # of all rows: where tiles were longer, the few programs would take long for one each
PROGRAMS = 512  # of pieces, and of panels times chunks where there is work for so many
MOST_PIECES = 128  # of a row
PANEL_TILE = 2048  # elements of some rows of a panel
WIDEST_PANEL, NARROWEST_PANEL = 1024, 64  # columns
SUM_ROWS, SUM_COLS = 64, 32  # the tile of the last kernel


class Phases(NamedTuple):
    """The sizes of the three kernels."""

    tile_cols: int  # of a piece
    piece: int  # columns
    pieces: int  # of a row
    panel: int  # columns
    tile_rows: int  # of a panel
    height: int  # rows of a chunk
    chunks: int


def choose_phases(rows: int, cols: int) -> Phases:
    """Enough programs for a GPU, however few rows; narrow panels where that takes them."""
    wanted = min(max(PROGRAMS // max(rows, 1), 1), MOST_PIECES)
    tile_cols = PIECE_COLS
    while tile_cols > SHORTEST_PIECE_COLS and rows * triton.cdiv(cols, tile_cols) < FEW_PIECES:
        tile_cols //= 2
    piece = triton.cdiv(cols, wanted * tile_cols) * tile_cols
    panel = WIDEST_PANEL
    while panel > NARROWEST_PANEL and (triton.cdiv(cols, panel) < PROGRAMS or panel // 2 >= cols):
        panel //= 2
    tile_rows = min(PANEL_TILE // panel, triton.next_power_of_2(max(rows, 1)))
    most_chunks = max(PROGRAMS // triton.cdiv(cols, panel), 1)
    height = max(triton.cdiv(triton.cdiv(rows, most_chunks), tile_rows), 1) * tile_rows
    pieces, chunks = triton.cdiv(cols, piece), max(triton.cdiv(rows, height), 1)
    return Phases(tile_cols, piece, pieces, panel, tile_rows, height, chunks)


@triton.jit
def _terms(dy, x, at, inside, centre, scale):
    """Of dy and h, zeros outside the matrix."""
    gradient = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    return gradient, tl.where(inside, (value - centre) * scale, 0.0)


@triton.jit
def _piece_sums(
    dy,
    x,
    w,
    mean,
    rstd,
    sums,
    cols: tl.constexpr,
    PIECE: tl.constexpr,
    PIECES: tl.constexpr,
    COLS: tl.constexpr,
    CENTRED: tl.constexpr,
):
    row = (tl.program_id(0) // PIECES).to(tl.int64)
    begin = tl.program_id(0) % PIECES * PIECE
    centre = tl.load(mean + row) if CENTRED else 0.0
    scale = tl.load(rstd + row)
    level = tl.zeros((COLS,), tl.float32)
    slope = tl.zeros((COLS,), tl.float32)
    for first in range(0, PIECE, COLS):
        col = begin + first + tl.arange(0, COLS)
        gradient, normal = _terms(dy, x, row * cols + col, col < cols, centre, scale)
        weighted = gradient * tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
        level += weighted
        slope += weighted * normal
    to = sums + tl.program_id(0).to(tl.int64) * 2
    tl.store(to, tl.sum(level))
    tl.store(to + 1, tl.sum(slope))


@triton.jit
def _panels(
    dy,
    x,
    w,
    mean,
    rstd,
    sums,
    dx,
    dw,
    db,
    rows,
    cols: tl.constexpr,
    PIECES: tl.constexpr,
    COUNT: tl.constexpr,
    HEIGHT: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    CENTRED: tl.constexpr,
):
    PANELS: tl.constexpr = (cols + COLS - 1) // COLS
    col = tl.program_id(0) % PANELS * COLS + tl.arange(0, COLS)
    chunk = (tl.program_id(0) // PANELS).to(tl.int64)
    piece = tl.arange(0, COUNT)
    weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
    scales = tl.zeros((COLS,), tl.float32)
    shifts = tl.zeros((COLS,), tl.float32)
    for first in range(0, HEIGHT, ROWS):
        row = chunk * HEIGHT + first + tl.arange(0, ROWS)
        exists = row < rows
        centre = tl.load(mean + row, mask=exists, other=0.0)[:, None] if CENTRED else 0.0
        scale = tl.load(rstd + row, mask=exists, other=0.0)[:, None]
        part = sums + (row[:, None] * PIECES + piece[None, :]) * 2
        known = exists[:, None] & (piece < PIECES)[None, :]
        slope = tl.sum(tl.load(part + 1, mask=known, other=0.0), axis=1)[:, None] / cols
        at = row[:, None] * cols + col[None, :]
        inside = exists[:, None] & (col < cols)[None, :]
        gradient, normal = _terms(dy, x, at, inside, centre, scale)
        result = gradient * weight[None, :] - normal * slope
        if CENTRED:
            result -= tl.sum(tl.load(part, mask=known, other=0.0), axis=1)[:, None] / cols
            shifts += tl.sum(gradient, axis=0)
        scales += tl.sum(gradient * normal, axis=0)
        tl.store(dx + at, (scale * result).to(dx.dtype.element_ty), mask=inside)
    tl.store(dw + chunk * cols + col, scales.to(dw.dtype.element_ty), mask=col < cols)
    if CENTRED:
        tl.store(db + chunk * cols + col, shifts.to(db.dtype.element_ty), mask=col < cols)


@triton.jit
def _columns(partial, out, parts, cols: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, parts, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row[:, None] < parts) & (col[None, :] < cols)
        total += tl.load(partial + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
    tl.store(out + col, tl.sum(total, axis=0).to(out.dtype.element_ty), mask=col < cols)


def launch_phases(
    key: str,
    dy: torch.Tensor,
    x: torch.Tensor,
    w: torch.Tensor,
    mean: torch.Tensor | None,
    rstd: torch.Tensor,
    dx: torch.Tensor,
    *column_sums: torch.Tensor,
) -> None:
    """Write dx, and dw or dw and db; without a ``mean`` of each row it is RMS norm."""
    rows, cols = x.shape
    require_32_bit_sizes(key, rows, cols)
    sizes = choose_phases(rows, cols)
    centred = mean is not None
    means = rstd if mean is None else mean
    sums = torch.empty((rows, sizes.pieces, 2), dtype=torch.float32, device=x.device)
    if rows:
        _piece_sums[(rows * sizes.pieces,)](
            *(dy, x, w, means, rstd, sums, cols, sizes.piece, sizes.pieces, sizes.tile_cols, centred),
            num_warps=4,
        )
    partial = column_sums
    if sizes.chunks > 1:
        shape = (len(column_sums), sizes.chunks, cols)
        partial = tuple(torch.empty(shape, dtype=torch.float32, device=x.device))
    _panels[(triton.cdiv(cols, sizes.panel) * sizes.chunks,)](
        *(dy, x, w, means, rstd, sums, dx, partial[0], partial[-1], rows, cols),
        *(sizes.pieces, triton.next_power_of_2(sizes.pieces)),
        *(sizes.height, sizes.tile_rows, sizes.panel, centred),
        num_warps=4,
    )
    if sizes.chunks > 1:
        for part, out in zip(partial, column_sums, strict=True):
            _columns[(triton.cdiv(cols, SUM_COLS),)](part, out, sizes.chunks, cols, SUM_ROWS, SUM_COLS)
