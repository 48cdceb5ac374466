"""Gradient of softmax in Triton: both rows in the registers of one program, so memory is read once.

Formula: dx[r, c] = y[r, c] (dy[r, c] - sum_c dy[r, c] y[r, c]). 4 rows cols FLOP, 3 rows cols s bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length and
ROWS > 1 for short rows; 16 or 32 elements a thread. Past 32768 columns the registers overflow into local
memory, slowly but rightly.
Idea: Triton's fused-softmax tutorial. The number of columns is known to the compiler, so that the mask is
known to end on a multiple of 16 bytes, or is not needed at all.
"""

import torch
import triton
import triton.language as tl

TILE = 2048  # elements, for the 128 threads of a program of short rows


@triton.jit
def _softmax_backward(dy, y, dx, rows, cols: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, WIDTH)
    at = row[:, None] * cols + col[None, :]
    inside = (row[:, None] < rows) & (col[None, :] < cols)
    if cols == WIDTH and ROWS == 1:
        gradient = tl.load(dy + at).to(tl.float32)
        power = tl.load(y + at).to(tl.float32)
    else:
        gradient = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
        power = tl.load(y + at, mask=inside, other=0.0).to(tl.float32)
    total = tl.sum(gradient * power, axis=1)
    result = (power * (gradient - total[:, None])).to(dx.dtype.element_ty)
    if cols == WIDTH and ROWS == 1:
        tl.store(dx + at, result)
    else:
        tl.store(dx + at, result, mask=inside)


def run(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of the softmax of each row, from ``dy`` and the ``y`` that came out; contiguous."""
    rows, cols = y.shape
    dx = torch.empty_like(dy)
    if y.numel():
        width = triton.next_power_of_2(cols)
        height = min(max(TILE // width, 1), triton.next_power_of_2(rows))
        warps = min(max(width // 1024, 4), 32)
        _softmax_backward[(triton.cdiv(rows, height),)](dy, y, dx, rows, cols, height, width, num_warps=warps)
    return dx
