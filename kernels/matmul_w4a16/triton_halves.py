"""Rows times 4-bit weights in Triton, the two halves of a group multiplied apart.

Formula: y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]; 2 m n k FLOP,
n k / 2 + n k s / group + (m k + m n) s bytes.
Mapping: a program computes ROWS x COLUMNS elements of y transposed, ROWS rows of weights by COLUMNS rows of
x, and walks along k a group, or 128 bytes of one, at a time. The low nibbles of a tile of packed bytes are
the weights of the group's first half, the high nibbles those of its second half: each is multiplied by its
half of x on the tensor cores, nothing is interleaved, and the sums of a group are scaled once.
Idea: the products of cuda_naive on the tensor cores. The layout is that of GGUF's Q4_0; the weights are the
tall operand, so that few rows of x waste the least.

To a single row of x the tensor cores are no help: the way there, through shared memory, takes longer than the
products do without them. A program then owns ROWS rows of weights and walks along k PARTS groups at a time; a
lane takes words of 8 weights, which become floats where they stand in the word.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.limits import MOST_BLOCKS_ALONG_Y

DOMAIN = "m <= 65535 * 32"
MOST_WIDTH = 128  # packed bytes of a row in a step


@triton.jit
def _weights(codes, dtype: tl.constexpr):
    """Codes less 8, by way of 2^23 + code: a conversion takes four times as long."""
    biased = (codes.to(tl.int32) | 0x4B000000).to(tl.float32, bitcast=True)
    return (biased - 8388616.0).to(dtype)


@triton.jit
def _multiply(
    x,
    packed,
    scale,
    y,
    m,
    n,
    GROUPS: tl.constexpr,
    HALF: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STAGES: tl.constexpr,
):
    row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)) % n  # past the end from the start again
    column = tl.program_id(1).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    at = tl.arange(0, WIDTH)
    weights = packed + row[:, None] * (GROUPS * HALF) + at[None, :]
    columns = x + column[None, :] * (GROUPS * HALF * 2) + at[:, None]
    filled = column[None, :] < m
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    # A step ahead, for nothing else is done while the scales of this one are on their way.
    following = tl.load(scale + row * GROUPS)
    STEPS: tl.constexpr = (HALF + WIDTH - 1) // WIDTH  # of a group
    for step in tl.range(0, GROUPS * STEPS, num_stages=STAGES):
        group, start = step // STEPS, step % STEPS * WIDTH
        if HALF % WIDTH == 0:
            codes = tl.load(weights + group * HALF + start)
            valid = filled
        else:
            codes = tl.load(weights + group * HALF + start, mask=at[None, :] < HALF - start, other=0)
            valid = filled & (at[:, None] < HALF - start)
        factor = following.to(tl.float32)
        following = tl.load(scale + row * GROUPS + min((step + 1) // STEPS, GROUPS - 1))
        first = tl.load(columns + group * (2 * HALF) + start, mask=valid, other=0.0)
        second = tl.load(columns + group * (2 * HALF) + start + HALF, mask=valid, other=0.0)
        low, high = _weights(codes & 15, x.dtype.element_ty), _weights(codes >> 4, x.dtype.element_ty)
        part = tl.dot(high, second, tl.dot(low, first))
        total += part * factor[:, None]
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = (place[:, None] < n) & (column[None, :] < m)
    tl.store(y + column[None, :] * n + place[:, None], total.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _weights_at(words, one, BIT: tl.constexpr):
    """The codes that begin at a bit of each word, less 8, in float32.

    They stay where they are in the mantissa, below bit 20, under the exponent that makes their lowest bit 1.
    ``one`` is no constant, lest each exponent be a second instruction beside the mask.
    """
    PLACE: tl.constexpr = BIT if BIT <= 16 else BIT - 12
    BIAS: tl.constexpr = 2.0 ** (23 - PLACE) + 8.0
    if BIT > 16:
        words = words >> 12
    return ((words & (15 << PLACE)) | one * ((150 - PLACE) << 23)).to(tl.float32, bitcast=True) - BIAS


@triton.jit
def _element(four, PLACE: tl.constexpr, NARROW: tl.constexpr):
    """One of four elements of 16 bits, in float32."""
    two = (four >> (PLACE // 2 * 32)).to(tl.int32)
    if tl.bfloat16 == NARROW:
        return ((two << 16) if PLACE % 2 == 0 else (two & -65536)).to(tl.float32, bitcast=True)
    return (two >> (PLACE % 2 * 16)).to(tl.int16).to(NARROW, bitcast=True).to(tl.float32)


@triton.jit(do_not_specialize=["one"])
def _multiply_row(
    x,
    words,
    scale,
    y,
    n,
    one,
    NARROW: tl.constexpr,
    GROUPS: tl.constexpr,
    QUADS: tl.constexpr,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
    STAGES: tl.constexpr,
):
    """One row of x, in fours; the weights in words of 8, of which a group has QUADS."""
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    row = (place % n)[:, None, None]  # past the end from the start again
    part, quad = tl.arange(0, PARTS), tl.arange(0, QUADS)
    total = tl.zeros((ROWS, PARTS, QUADS), tl.float32)
    for first in tl.range(0, GROUPS, PARTS, num_stages=STAGES):
        group = first + part
        inside = group < GROUPS
        at = group[:, None] * QUADS + quad[None, :]
        packed = tl.load(words + row * (GROUPS * QUADS) + at[None], mask=inside[None, :, None], other=0)
        factor = tl.load(scale + row * GROUPS + group[None, :, None], mask=inside[None, :, None], other=0.0)
        sum = tl.zeros((ROWS, PARTS, QUADS), tl.float32)
        for half in tl.static_range(2):
            four = tl.load(x + at + (group[:, None] + half) * QUADS, mask=inside[:, None], other=0)
            for i in tl.static_range(4):
                sum += _weights_at(packed, one, 8 * i + 4 * half) * _element(four, i, NARROW)[None]
        total += sum * factor.to(tl.float32)
    result = tl.sum(tl.sum(total, axis=2), axis=1).to(y.dtype.element_ty)
    tl.store(y + place, result, mask=place < n)


def run(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    n, groups, half = packed.shape
    m = x.shape[0]
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    if groups == 0 or y.numel() == 0:
        return y.zero_()
    whole_words = half in (16, 32, 64, 128, 256, 512) and (x.data_ptr() | packed.data_ptr()) % 16 == 0
    if m == 1 and whole_words:
        narrow = tl.float16 if x.dtype == torch.float16 else tl.bfloat16
        rows, parts = 8, 512 // half
        grid = (triton.cdiv(n, rows),)
        fours, words, fixed = x.view(torch.int64), packed.view(torch.int32), (narrow, groups, half // 4)
        _multiply_row[grid](fours, words, scale, y, n, 1, *fixed, parts, rows, STAGES=3, num_warps=4)
    else:
        rows, columns = (16, max(8, triton.next_power_of_2(m))) if m <= 16 else (32, 32)
        width = min(max(triton.next_power_of_2(half), 16), MOST_WIDTH)
        grid = (triton.cdiv(n, rows), triton.cdiv(m, columns))
        if grid[1] > MOST_BLOCKS_ALONG_Y:
            most = MOST_BLOCKS_ALONG_Y * columns
            raise Refusal(f"matmul_w4a16/triton_halves takes {most} rows of x at most, not {m}.")
        _multiply[grid](x, packed, scale, y, m, n, groups, half, width, rows, columns, STAGES=4, num_warps=1)
    return y
