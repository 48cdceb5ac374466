"""Bias and GELU in Triton, in one pass over tiles of a few rows.

Formula: z = x + b, y = z / (1 + exp(-2u)) with u = sqrt(2/pi) (z + 0.044715 z^3) (see gelu/triton_sigmoid).
10 rows cols FLOP by the spec's count; (2 rows cols + cols)s bytes: b stays in the caches.
Mapping: program p owns a tile of ROWS x COLS elements, 16 bytes for each of its 128 threads; tiles are
numbered along the rows, or, of a long b, down up to 16 rows first, so that L2 still has what of b the row
before has read. The tile's part of b is loaded once and shared by its rows.
Idea: fusion of pointwise operations. Tiles of two dimensions need no remainder to find an element's column,
and the sizes are known to the compiler, so that a mask is known to end on a multiple of 16 bytes, or is not
needed at all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import hint_of

TILE_BYTES = 2048
MOST_TOGETHER, LONG_BYTES = 16, 4 << 20  # rows that are read side by side, where b is longer

# exp(-2u) = 2^(z (LINEAR + CUBIC z^2)): -2 sqrt(2/pi) log2(e), and that times 0.044715.
LINEAR = tl.constexpr(-2.302208198144325)
CUBIC = tl.constexpr(-0.10294323958002349)


@triton.jit
def _bias_gelu(
    x,
    b,
    y,
    rows,
    cols: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    TOGETHER: tl.constexpr,
    WHOLE: tl.constexpr,
    HINT: tl.constexpr,
):
    across: tl.constexpr = (cols + COLS - 1) // COLS
    tile = tl.program_id(0).to(tl.int64)
    within = tile % (across * TOGETHER)
    row = (tile // (across * TOGETHER) * TOGETHER + within % TOGETHER) * ROWS + tl.arange(0, ROWS)
    col = within // TOGETHER * COLS + tl.arange(0, COLS)
    at = row[:, None] * cols + col[None, :]
    if WHOLE:
        bias = tl.load(b + col).to(tl.float32)
        value = tl.load(x + at, eviction_policy=HINT).to(tl.float32)
    else:
        inside = (row[:, None] < rows) & (col[None, :] < cols)
        bias = tl.load(b + col, mask=col < cols, other=0.0).to(tl.float32)
        value = tl.load(x + at, mask=inside, other=0.0, eviction_policy=HINT).to(tl.float32)
    value += bias[None, :]
    result = (value / (1.0 + tl.exp2(value * (LINEAR + CUBIC * value * value)))).to(y.dtype.element_ty)
    if WHOLE:
        tl.store(y + at, result)
    else:
        tl.store(y + at, result, mask=inside)


def run(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (rows, cols), plus ``b``, (cols,); contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel():
        tile = TILE_BYTES // x.element_size()
        width = min(triton.next_power_of_2(cols), tile)
        height = tile // width
        together = min(rows, MOST_TOGETHER) if b.nbytes > LONG_BYTES else 1
        tiles = triton.cdiv(rows, height * together) * together * triton.cdiv(cols, width)
        whole = cols % width == 0 and height == 1 and rows % together == 0
        _bias_gelu[(tiles,)](x, b, y, rows, cols, height, width, together, whole, hint_of(x), num_warps=4)
    return y
