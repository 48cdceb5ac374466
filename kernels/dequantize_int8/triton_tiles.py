"""int8 rows back to numbers in Triton, a tile of columns a program.

Formula: x[r, c] = q[r, c] scale[r]; rows cols FLOP, rows (cols (1 + s) + s) bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, at most 2048 of them, 1024 in small matrices:
long rows by parts, short ones several at a time. It reads the scale of each of its rows once. Of a matrix
whose rows are no whole packs, or of a small one whose tiles would be partly empty, it owns a run of elements,
and divides. Only the last of the programs masks its run.
Idea: the number of columns is known to the compiler, so that a mask is known to end on a multiple of 16
bytes, or is not needed at all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import hint_of
from roofscope.kernels.shared.limits import require_32_bit_sizes

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
TILE = 2048  # elements, for 128 threads
FEW = 2**20  # elements, for which tiles of half the size are faster
SHORT, PACK = 64, 8  # columns, and codes of a pack of 16 bits
# Matrices of whole packs that are one run, elements in all: rows of a few even columns, which leave no width
# of a tile empty, and longer ones, whose last tiles would be partly empty.
EVEN_COLS, EVEN_RUN, PACKED_RUN = (4, 8), range(2**19 + 1, 2**20 + 1), range(2**19 + 1, 2**21 + 1)
SHORT_RUN = 5 * 2**19  # elements at most where short rows are one run; rows of no whole packs always are
# Elements of a program and its warps, up to so many in all: a smaller matrix has more threads for each.
RUN_TILES = ((2**17, 512, 8), (3 * 2**17, 1024, 8), (2**31, 1024, 4))
MOST_OF_RUN = 2**31 - 1024  # elements that 32 bits count


@triton.jit
def _dequantize(
    q, scale, x, rows, cols: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, HINT: tl.constexpr
):
    TILES: tl.constexpr = (cols + WIDTH - 1) // WIDTH
    row = (tl.program_id(0) // TILES).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = (tl.program_id(0) % TILES) * WIDTH + tl.arange(0, WIDTH)
    at = row[:, None] * cols + col[None, :]
    if cols % WIDTH == 0 and ROWS == 1:
        codes = tl.load(q + at, eviction_policy=HINT)
        factor = tl.load(scale + row)
    else:
        inside = (row[:, None] < rows) & (col[None, :] < cols)
        codes = tl.load(q + at, mask=inside, other=0, eviction_policy=HINT)
        factor = tl.load(scale + row, mask=row < rows, other=0.0)
    result = (codes.to(tl.float32) * factor.to(tl.float32)[:, None]).to(x.dtype.element_ty)
    if cols % WIDTH == 0 and ROWS == 1:
        tl.store(x + at, result)
    else:
        tl.store(x + at, result, mask=inside)


@triton.jit
def _dequantize_run(q, scale, x, n, cols: tl.constexpr, TILE: tl.constexpr):
    first = tl.program_id(0) * TILE
    at = first + tl.arange(0, TILE)
    if first + TILE <= n:
        codes = tl.load(q + at)
        factor = tl.load(scale + at // cols)
        result = codes.to(tl.float32) * factor.to(tl.float32)
        tl.store(x + at, result.to(x.dtype.element_ty))
    else:
        inside = at < n
        codes = tl.load(q + at, mask=inside, other=0)
        factor = tl.load(scale + at // cols, mask=inside, other=0.0)
        result = codes.to(tl.float32) * factor.to(tl.float32)
        tl.store(x + at, result.to(x.dtype.element_ty), mask=inside)


def is_run(count: int, cols: int) -> bool:
    """Whether programs own runs of the ``count`` elements, in rows of ``cols``, in place of tiles."""
    if not 0 < count <= MOST_OF_RUN:
        return False
    if cols == triton.next_power_of_2(cols):
        return cols in EVEN_COLS and count in EVEN_RUN
    if cols < SHORT and count <= SHORT_RUN:
        return True
    return count in PACKED_RUN if cols % PACK == 0 else cols >= SHORT


def run(q: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``q``, (rows, cols) and contiguous, times the ``scale``, (rows,), of each row."""
    rows, cols = q.shape
    require_32_bit_sizes("dequantize_int8/triton_tiles", rows, cols)
    x = torch.empty((rows, cols), dtype=scale.dtype, device=q.device)
    count = q.numel()
    if is_run(count, cols):
        tile, warps = next((tile, warps) for most, tile, warps in RUN_TILES if count <= most)
        programs = triton.cdiv(count, tile)
        _dequantize_run[(programs,)](q, scale, x, count, cols, tile, num_warps=warps)
    elif count:
        tile = TILE if count > FEW else TILE // 2
        width = min(triton.next_power_of_2(cols), tile)
        height = min(tile // width, triton.next_power_of_2(rows))
        programs = triton.cdiv(rows, height) * triton.cdiv(cols, width)
        _dequantize[(programs,)](q, scale, x, rows, cols, height, width, hint_of(q), num_warps=4)
    return x
