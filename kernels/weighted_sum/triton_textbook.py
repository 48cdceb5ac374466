"""Weighted sum of rows in Triton as the course's exercise has it: a few rows a program, blocks by descriptor.

Formula: y[r] = sum_d x[r, d] w[d]; 2 rows cols FLOP, (rows cols + cols + rows)s bytes.
Mapping: program p owns 16 rows and walks along them in blocks of 128 columns. A descriptor knows shape and
strides, so that what lies outside reads as 0 without a mask.
Lesson: the exercise used block pointers, which Triton no longer has; descriptors are their successor, and ask
for rows of whole 16-byte units: others are padded first, by a copy that counts as time. A block of 16 x 128
is little to keep under way, and 4096 rows are 256 programs: triton_row_tiles takes larger blocks and cuts
long rows into pieces.
Idea: the weighted-sum exercise of Stanford CS336.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes
from roofscope.kernels.shared.padding import in_whole_units

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
ROWS = 16
COLS = 128


@triton.jit
def _weighted_sum(x, w, y, rows, cols, width, ROWS: tl.constexpr, COLS: tl.constexpr):
    first = tl.program_id(0) * ROWS
    matrix = tl.make_tensor_descriptor(x, shape=[rows, cols], strides=[width, 1], block_shape=[ROWS, COLS])
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, cols, COLS):
        at = start + tl.arange(0, COLS)
        weight = tl.load(w + at, mask=at < cols, other=0.0).to(tl.float32)
        total += tl.sum(matrix.load([first, start]).to(tl.float32) * weight[None, :], axis=1)
    row = first + tl.arange(0, ROWS)
    tl.store(y + row, total.to(y.dtype.element_ty), mask=row < rows)


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Weigh and sum the rows of ``x``, (rows, cols), by ``w``, (cols,), both contiguous. Gives (rows,)."""
    rows, cols = x.shape
    require_32_bit_sizes("weighted_sum/triton_textbook", rows, cols)
    if not cols:
        return torch.zeros(rows, dtype=x.dtype, device=x.device)
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    if rows:
        x = in_whole_units(x)
        # Where the kernel puts its descriptor.
        triton.set_allocator(
            lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=x.device)
        )
        _weighted_sum[(triton.cdiv(rows, ROWS),)](x, w, y, rows, cols, x.shape[1], ROWS, COLS)
    return y
