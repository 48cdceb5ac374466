"""Groups to 4-bit integers in Triton: the two halves of a group are loaded apart, and meet in one byte.

Formula: q = round(x / scale) + 8, scale = max |x| / 7 over each group. 3 rows cols FLOP,
rows cols (s + 1/2 + 4/group) bytes.
Mapping: rows and groups are one run. A program owns GROUPS groups as two tiles of GROUPS x WIDTH elements,
the first halves and the second halves, 16 bytes of each a thread: so the packed bytes lie as the elements do,
and neither shared memory nor a barrier is needed to put them there.
Idea: the layout is that of GGUF's Q4_0. Magnitudes are compared as integers, which loses no NaN. The quotient
7 x / largest is a product with the reciprocal corrected by its remainder (Markstein 1990), of the accuracy of
a division in four instructions; adding 1.5 2^23 rounds it, halves to even, and leaves the code in the low
bits.
"""

import torch
import triton
import triton.language as tl

THREADS = 128
PACK_BYTES = 16

LEVELS = tl.constexpr(7.0)
ROUNDER = tl.constexpr(12582912.0 + 8.0)  # 1.5 2^23, and what is added to a code
# Bit patterns of 2^-101 and 2^126: between them a largest element is brought to 1 by a power of two.
LEAST = tl.constexpr(0x0D000000)
MOST = tl.constexpr(0x7E800000)


@triton.jit
def _magnitudes(x):
    """Bits without the sign: as integers in the order of the magnitudes, and NaN above all."""
    return x.to(tl.float32).to(tl.int32, bitcast=True) & 0x7FFFFFFF


@triton.jit
def _codes(x, divisor, factor, inverse):
    numerator = x.to(tl.float32) * factor
    quotient = numerator * inverse
    remainder = tl.fma(-quotient, divisor, numerator)
    rounded = tl.fma(remainder, inverse, quotient) + ROUNDER
    return rounded.to(tl.int32, bitcast=True)  # the code is in the low four bits


@triton.jit
def _quantize(x, packed, scale, count, HALF: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * GROUPS
    group = first + tl.arange(0, GROUPS)
    col = tl.arange(0, WIDTH)
    at = group[:, None] * HALF + col[None, :]
    inside = (group[:, None] < count) & (col[None, :] < HALF)
    whole = (first + GROUPS <= count) and HALF == WIDTH
    address = x + group[:, None] * (2 * HALF) + col[None, :]
    if whole:
        low, high = tl.load(address), tl.load(address + HALF)
    else:
        low = tl.load(address, mask=inside, other=0.0)
        high = tl.load(address + HALF, mask=inside, other=0.0)
    bits = tl.max(tl.maximum(_magnitudes(low), _magnitudes(high)), axis=1)
    largest = tl.where(bits == 0, LEVELS, bits.to(tl.float32, bitcast=True))  # zeros get scale 1
    exponent = tl.minimum(tl.maximum(largest.to(tl.int32, bitcast=True), LEAST), MOST) & 0x7F800000
    power = (0x7F000000 - exponent).to(tl.float32, bitcast=True)
    divisor = (largest * power)[:, None]
    factor, inverse = (power * LEVELS)[:, None], 1.0 / divisor
    codes = (_codes(low, divisor, factor, inverse) & 15) | _codes(high, divisor, factor, inverse) << 4
    if whole:
        tl.store(packed + at, codes.to(tl.uint8))
    else:
        tl.store(packed + at, codes.to(tl.uint8), mask=inside)
    tl.store(scale + group, largest * (1.0 / LEVELS), mask=group < count)


def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed codes and scales of the groups of ``x``, (rows, groups, group) and contiguous."""
    rows, groups, group = x.shape
    half, count = group // 2, rows * groups
    packed = torch.empty((rows, groups, half), dtype=torch.uint8, device=x.device)
    scale = torch.empty((rows, groups), dtype=torch.float32, device=x.device)
    if count:
        width = triton.next_power_of_2(half)
        height = max(THREADS * PACK_BYTES // x.element_size() // width, 1)
        _quantize[(triton.cdiv(count, height),)](x, packed, scale, count, half, height, width, num_warps=4)
    return packed, scale
