"""Rows times 4-bit weights in Triton, the two halves of a group multiplied apart.

Formula: y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]; 2 m n k FLOP,
n k / 2 + n k s / group + (m k + m n) s bytes.
Mapping: a program computes ROWS x COLUMNS elements of y transposed, ROWS rows of weights by COLUMNS rows of
x, and walks along k a group, or 128 bytes of one, at a time. The low nibbles of a tile of packed bytes are
the weights of the group's first half, the high nibbles those of its second half: each is multiplied by its
half of x on the tensor cores, nothing is interleaved, and the sums of a group are scaled once.
Idea: the layout is that of GGUF's Q4_0; the weights are the tall operand, so that one row of x wastes the
least.
"""

import torch
import triton
import triton.language as tl

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
        else:
            codes = tl.load(weights + group * HALF + start, mask=at[None, :] < HALF - start, other=0)
            filled = (column[None, :] < m) & (at[:, None] < HALF - start)
        factor = following.to(tl.float32)
        following = tl.load(scale + row * GROUPS + min((step + 1) // STEPS, GROUPS - 1))
        first = tl.load(columns + group * (2 * HALF) + start, mask=filled, other=0.0)
        second = tl.load(columns + group * (2 * HALF) + start + HALF, mask=filled, other=0.0)
        low, high = _weights(codes & 15, x.dtype.element_ty), _weights(codes >> 4, x.dtype.element_ty)
        part = tl.dot(high, second, tl.dot(low, first))
        total += part * factor[:, None]
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = (place[:, None] < n) & (column[None, :] < m)
    tl.store(y + column[None, :] * n + place[:, None], total.to(y.dtype.element_ty), mask=inside)


def run(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    n, groups, half = packed.shape
    m = x.shape[0]
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    if groups == 0:
        return y.zero_()
    if m and n:
        rows, columns = (16, max(8, triton.next_power_of_2(m))) if m <= 16 else (32, 32)
        width = min(max(triton.next_power_of_2(half), 16), MOST_WIDTH)
        grid = (triton.cdiv(n, rows), triton.cdiv(m, columns))
        _multiply[grid](x, packed, scale, y, m, n, groups, half, width, rows, columns, STAGES=4, num_warps=1)
    return y
