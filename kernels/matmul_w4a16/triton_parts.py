"""Rows times 4-bit weights in Triton, k shared out among the warps of a program.

Formula: y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]; 2 m n k FLOP,
n k / 2 + n k s / group + (m k + m n) s bytes.
Mapping: that of triton_halves, a program computing ROWS x COLUMNS elements of y transposed; but k is cut into
PARTS that are multiplied side by side, as products of a batch, and added up at the end. A warp owns a part,
so that few rows of weights still keep many warps at work.
Idea: split-k, inside a program and so with one launch and no second pass over partial sums in memory.
"""

import torch
import triton
import triton.language as tl

MOST_WIDTH = 128  # packed bytes of a row in a step
PARTS = 4  # one a warp


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
    PARTS: tl.constexpr,
    STAGES: tl.constexpr,
):
    PER_GROUP: tl.constexpr = (HALF + WIDTH - 1) // WIDTH
    STEPS: tl.constexpr = GROUPS * PER_GROUP
    SHARE: tl.constexpr = (STEPS + PARTS - 1) // PARTS
    place = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    row = place % n  # past the end from the start again
    at = tl.arange(0, WIDTH)
    weights = packed + row[None, :, None] * (GROUPS * HALF) + at[None, None, :]
    columns = x + column[None, None, :] * (GROUPS * HALF * 2) + at[None, :, None]
    scales = scale + row[None, :] * GROUPS
    step = tl.arange(0, PARTS) * SHARE
    total = tl.zeros((PARTS, ROWS, COLUMNS), tl.float32)
    # A step ahead, for nothing else is done while the scales of this one are on their way.
    following = tl.load(scales + (step // PER_GROUP)[:, None], mask=(step < STEPS)[:, None], other=0.0)
    for _ in tl.range(0, SHARE, num_stages=STAGES):
        group = step // PER_GROUP
        start = step % PER_GROUP * WIDTH
        first_byte = group * HALF + start
        inside = (step < STEPS)[:, None]
        if HALF % WIDTH != 0:
            inside = inside & (at[None, :] < (HALF - start)[:, None])
        codes = tl.load(weights + first_byte[:, None, None], mask=inside[:, None, :], other=0)
        element = (first_byte + group * HALF)[:, None, None]
        filled = (column[None, None, :] < m) & inside[:, :, None]
        first = tl.load(columns + element, mask=filled, other=0.0)
        second = tl.load(columns + element + HALF, mask=filled, other=0.0)
        factor = following.to(tl.float32)
        step += 1
        following = tl.load(scales + (step // PER_GROUP)[:, None], mask=(step < STEPS)[:, None], other=0.0)
        low, high = _weights(codes & 15, x.dtype.element_ty), _weights(codes >> 4, x.dtype.element_ty)
        total += tl.dot(high, second, tl.dot(low, first)) * factor[:, :, None]
    result = tl.sum(total, axis=0).to(y.dtype.element_ty)
    tl.store(
        y + column[None, :] * n + place[:, None], result, mask=(place[:, None] < n) & (column[None, :] < m)
    )


def run(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    n, groups, half = packed.shape
    m = x.shape[0]
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    if groups == 0:
        return y.zero_()
    if m and n:
        rows, columns = 16, min(max(8, triton.next_power_of_2(m)), 32)
        width = min(max(triton.next_power_of_2(half), 16), MOST_WIDTH)
        grid = (triton.cdiv(n, rows), triton.cdiv(m, columns))
        _multiply[grid](
            x, packed, scale, y, m, n, groups, half, width, rows, columns, PARTS, STAGES=3, num_warps=PARTS
        )
    return y
