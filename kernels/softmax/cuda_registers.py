"""Launches ``cuda_registers.cu``: softmax, some lanes a row up to 2 KB, a block a row above."""

import torch

from roofscope.kernels.shared.rows import ONES_UNLESS_KEPT, PACK_BYTES, Held, Short, are_packed, launch_rows
from roofscope.kernels.shared.slab import Space

HELD = Held(5, (8, 16, 24, 32, 48, 64))  # as in cuda_registers.cu
# Packs of a row of which each lane of a warp has three: a fourth, which none has, takes as many instructions.
PACKS_BY_THREE, BLOCK_ROWS, WARP = range(65, 97), 4, 32


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols) and contiguous."""
    y = torch.empty_like(x)
    rows, cols = x.shape
    if -(-cols * x.element_size() // PACK_BYTES) in PACKS_BY_THREE and are_packed(cols, x, y):
        blocks, threads = -(-rows // BLOCK_ROWS), BLOCK_ROWS * WARP
        program.launch("softmax_lanes_32_3", blocks, threads, x, y, rows, cols, overlaps=True)
        return y
    how = {"at_any_alignment": True, "narrow": (8, 4), "by_elements": 128, "pairs": True}
    launch_rows(program, "softmax", x, y, ones=ONES_UNLESS_KEPT, slab=Short(Space()), held=HELD, **how)
    return y
