"""Rows to int8 in Triton: a row, or a few short ones, in the registers of a program.

Formula: q[r, c] = round(x[r, c] / scale[r]), scale[r] = max_c |x[r, c]| / 127. 3 rows cols FLOP,
rows (cols (s + 1) + 4) bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length. Rows
of more than 32768 columns do not fit into registers: their program walks along them twice, the second time in
L2. Where such rows are few a program has a piece of one, and a kernel before finds the pieces' largest
elements.
Idea: softmax/triton_registers. Magnitudes are compared as integers, which loses no NaN. The quotient 127 x /
largest is a product with the reciprocal corrected by its remainder (Markstein 1990), of the accuracy of a
division in four instructions; adding 1.5 2^23 rounds it, halves to even, and leaves the code in the low bits.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes
from roofscope.kernels.shared.row_tiles import row_tile

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
TILE = 2048  # elements, for the 128 threads of a program of short rows that are very many
LONGER_THAN, MANY_ELEMENTS = 1024, 2**20  # columns and elements from which on rows are no more as others are
TWO_WARPS_WIDTH, TWO_WARPS = 256, 2  # whose rows go faster by fewer warps
LONGEST_ROW = 32768
LONG_TILE = 8192
PROGRAMS = 512  # for few long rows

LEVELS = tl.constexpr(127.0)
ROUNDER = tl.constexpr(12582912.0)  # 1.5 2^23
# Bit patterns of 2^-101 and 2^126: between them a largest element is brought to 1 by a power of two.
LEAST = tl.constexpr(0x0D000000)
MOST = tl.constexpr(0x7E800000)


@triton.jit
def _magnitudes(x):
    """Bits without the sign: as integers in the order of the magnitudes, and NaN above all."""
    return x.to(tl.float32).to(tl.int32, bitcast=True) & 0x7FFFFFFF


@triton.jit
def _divisor(bits):
    """The largest element and a power of two that brings it near 1; rows of zeros get scale 1."""
    largest = tl.where(bits == 0, LEVELS, bits.to(tl.float32, bitcast=True))
    exponent = tl.minimum(tl.maximum(largest.to(tl.int32, bitcast=True), LEAST), MOST) & 0x7F800000
    return largest, (0x7F000000 - exponent).to(tl.float32, bitcast=True)


@triton.jit
def _codes(x, divisor, factor, inverse):
    numerator = x.to(tl.float32) * factor
    quotient = numerator * inverse
    remainder = tl.fma(-quotient, divisor, numerator)
    rounded = tl.fma(remainder, inverse, quotient) + ROUNDER
    return rounded.to(tl.int32, bitcast=True).to(tl.int8)


@triton.jit
def _quantize(x, q, scale, rows, cols: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, WIDTH)
    at = row[:, None] * cols + col[None, :]
    if cols == WIDTH and ROWS == 1:
        value = tl.load(x + at)
    else:
        inside = (row[:, None] < rows) & (col[None, :] < cols)
        value = tl.load(x + at, mask=inside, other=0.0)
    largest, power = _divisor(tl.max(_magnitudes(value), axis=1))
    divisor = (largest * power)[:, None]
    codes = _codes(value, divisor, (power * LEVELS)[:, None], 1.0 / divisor)
    if cols == WIDTH and ROWS == 1:
        tl.store(q + at, codes)
    else:
        tl.store(q + at, codes, mask=inside)
    tl.store(scale + row, largest * (1.0 / LEVELS), mask=row < rows)


@triton.jit
def _quantize_long(x, q, scale, cols: tl.constexpr, WIDTH: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    bits = tl.zeros((WIDTH,), tl.int32)
    for first in range(0, cols, WIDTH):
        at = first + tl.arange(0, WIDTH)
        value = tl.load(x + start + at, mask=at < cols, other=0.0, eviction_policy="evict_last")
        bits = tl.maximum(bits, _magnitudes(value))
    largest, power = _divisor(tl.max(bits, axis=0))
    divisor = largest * power
    for first in range(0, cols, WIDTH):
        at = first + tl.arange(0, WIDTH)
        value = tl.load(x + start + at, mask=at < cols, other=0.0, eviction_policy="evict_first")
        tl.store(q + start + at, _codes(value, divisor, power * LEVELS, 1.0 / divisor), mask=at < cols)
    tl.store(scale + tl.program_id(0), largest * (1.0 / LEVELS))


@triton.jit
def _largest_of_pieces(
    x, pieces, cols: tl.constexpr, PIECES: tl.constexpr, PIECE: tl.constexpr, WIDTH: tl.constexpr
):
    start = (tl.program_id(0) // PIECES).to(tl.int64) * cols
    begin = tl.program_id(0) % PIECES * PIECE
    bits = tl.zeros((WIDTH,), tl.int32)
    for first in range(0, PIECE, WIDTH):
        at = begin + first + tl.arange(0, WIDTH)
        bits = tl.maximum(bits, _magnitudes(tl.load(x + start + at, mask=at < cols, other=0.0)))
    tl.store(pieces + tl.program_id(0), tl.max(bits, axis=0))


@triton.jit
def _quantize_pieces(
    x,
    pieces,
    q,
    scale,
    cols: tl.constexpr,
    PIECES: tl.constexpr,
    COUNT: tl.constexpr,
    PIECE: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = (tl.program_id(0) // PIECES).to(tl.int64)
    begin = tl.program_id(0) % PIECES * PIECE
    other = tl.arange(0, COUNT)
    bits = tl.load(pieces + row * PIECES + other, mask=other < PIECES, other=0)
    largest, power = _divisor(tl.max(bits, axis=0))
    divisor = largest * power
    for first in range(0, PIECE, WIDTH):
        at = begin + first + tl.arange(0, WIDTH)
        value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
        codes = _codes(value, divisor, power * LEVELS, 1.0 / divisor)
        tl.store(q + row * cols + at, codes, mask=at < cols)
    if begin == 0:
        tl.store(scale + row, largest * (1.0 / LEVELS))


def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales of the rows of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    require_32_bit_sizes("quantize_int8/triton_rows", rows, cols)
    q = torch.empty((rows, cols), dtype=torch.int8, device=x.device)
    scale = torch.empty(rows, dtype=torch.float32, device=x.device)
    if rows == 0:
        return q, scale
    if cols > LONGEST_ROW and rows * 2 <= PROGRAMS:
        piece = triton.cdiv(cols, PROGRAMS // rows * LONG_TILE) * LONG_TILE
        count = triton.cdiv(cols, piece)
        pieces = torch.empty((rows, count), dtype=torch.int32, device=x.device)
        _largest_of_pieces[(rows * count,)](x, pieces, cols, count, piece, LONG_TILE, num_warps=8)
        padded = triton.next_power_of_2(count)
        _quantize_pieces[(rows * count,)](
            x, pieces, q, scale, cols, count, padded, piece, LONG_TILE, num_warps=8
        )
        return q, scale
    if cols > LONGEST_ROW:
        _quantize_long[(rows,)](x, q, scale, cols, LONG_TILE, num_warps=16)
        return q, scale
    width = triton.next_power_of_2(cols)
    height, warps = tile_of(rows, cols)
    _quantize[(triton.cdiv(rows, height),)](x, q, scale, rows, cols, height, width, num_warps=warps)
    return q, scale


def tile_of(rows: int, cols: int) -> tuple[int, int]:
    """Rows and warps of a program: as for other rows, but of longer or very many ones larger tiles."""
    width = triton.next_power_of_2(cols)
    if width <= LONGER_THAN and rows * width < MANY_ELEMENTS:
        return row_tile(rows, cols)
    height = min(max(TILE // width, 1), triton.next_power_of_2(rows))
    return height, TWO_WARPS if width == TWO_WARPS_WIDTH else min(max(width // 512, 4), 32)
