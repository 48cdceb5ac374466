"""Softmax in Triton as the fused-softmax exercise has it: a program, a row, and one block that holds it.

Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum. 5 rows cols FLOP,
2 rows cols s bytes.
Mapping: program r owns row r, in a block as wide as the next power of two, with the default 4 warps.
Lesson: fusion gives most of it: one read and one write where five operators of PyTorch read and write each
time. What is left is the mapping: short rows leave threads idle, long ones spill 128 threads' registers.
triton_registers fits rows and warps to the length.
Idea: Triton's fused-softmax tutorial, in its first form.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_row_in_tile

DOMAIN = "cols <= 2**20"


@triton.jit
def _softmax(x, y, cols, WIDTH: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, WIDTH)
    inside = at < cols
    row = tl.load(x + start + at, mask=inside, other=-float("inf")).to(tl.float32)
    power = tl.exp(row - tl.max(row, axis=0))
    result = power / tl.sum(power, axis=0)
    tl.store(y + start + at, result.to(y.dtype.element_ty), mask=inside)


def run(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel():
        require_row_in_tile("softmax/triton_textbook", cols)
        _softmax[(rows,)](x, y, cols, triton.next_power_of_2(cols))
    return y
