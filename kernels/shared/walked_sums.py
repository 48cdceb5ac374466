"""Sums of rows in Triton, weighted or not: a program has a row and walks along it, a tile after another."""

import torch
import triton
import triton.language as tl

Tile = tuple[int, int]  # elements, and warps that have four or two a thread
LONG, SHORT, SPREAD = (2048, 16), (1024, 8), (1024, 16)


@triton.jit
def _walk(
    x,
    w,
    y,
    rows,
    cols: tl.constexpr,
    COLS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    IS_LARGE: tl.constexpr,
):
    row = tl.program_id(0) + tl.arange(0, 1)[:, None]
    there = row < rows  # always, but unknown to the compiler: x is then asked for as early as w
    start = row.to(tl.int64) * cols if IS_LARGE else row * cols
    total = tl.zeros((1, COLS), tl.float32)
    for first in tl.range(0, cols, COLS):
        at = first + tl.arange(0, COLS)[None, :]
        inside = at < cols
        part = tl.load(x + (at + start), inside & there, eviction_policy="evict_first", other=0.0)
        if WEIGHTED:
            part *= tl.load(w + at, inside, eviction_policy="evict_last", other=0.0)
        total = tl.where(inside & there, total + part, total)
    tl.store(y + row, tl.sum(total, 1)[:, None], there)


def walk_rows(x: torch.Tensor, w: torch.Tensor | None, y: torch.Tensor, tile: Tile = LONG) -> None:
    """Write sums of ``x``'s rows, (rows, cols) in float32, times ``w``, (cols,), to ``y``, (rows,)."""
    rows, cols = x.shape
    elements, warps = tile
    is_large = (rows + 1) * cols >= 2**31
    weights = x if w is None else w
    _walk[(rows,)](x, weights, y, rows, cols, elements, w is not None, is_large, num_warps=warps)
