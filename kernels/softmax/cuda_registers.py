"""Launches ``cuda_registers.cu``: softmax, some lanes a row up to 2 KB, a block a row above."""

import math

import torch

from roofscope.kernels.shared.rows import are_packed, launch_rows

THREADS = 128  # of a block of short rows
LANES_AND_EACH = ((4, 1), (8, 1), (16, 1), (16, 2), (16, 4))  # of a row, and elements of a lane
MOST_ELEMENTS = 64  # of a row that goes element by element where it is not packed


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols) and contiguous."""
    y = torch.empty_like(x)
    rows, cols = x.shape
    if 0 < cols <= MOST_ELEMENTS and not are_packed(cols, x, y):
        lanes, each = next(pair for pair in LANES_AND_EACH if cols <= math.prod(pair))
        blocks = -(-rows * lanes // THREADS)
        program.launch(f"softmax_elements_{lanes}_{each}", blocks, THREADS, x, y, rows, cols)
        return y
    launch_rows(program, "softmax", x, y, at_any_alignment=True)
    return y
