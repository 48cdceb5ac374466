"""Launches ``cuda_tma.cu``: few rows times many 4-bit weights."""

import torch

from roofscope import tensor_map
from roofscope.kernels.matmul_w4a16 import stages

MINIMUM_COMPUTE_CAPABILITY = (9, 0)

WARP = 32
# As in cuda_tma.cu.
WARPS = 8
BLOCKS = 2
BOX = 256
MOST_STAGES = 6
ROWS = 16
COLUMNS = 8
STEP = 64

STAGE_BYTES = WARPS * ROWS * BOX
# Of the 228 KiB of a multiprocessor; sums and barriers are not dynamic, and each block has 1 KiB for itself.
SHARED_BYTES = 222 * 1024 // BLOCKS - (2 * WARPS * COLUMNS * ROWS * 4 + 2048)
# Fewer weights go the way of stages.py, which begins sooner.
LEAST_BYTES = 32 * 2**20


def run(program, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    n, groups, half = packed.shape
    m = x.shape[0]
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    depth = min((SHARED_BYTES - m * (groups * half * 4 + STEP)) // STAGE_BYTES, MOST_STAGES)
    usual = half == STEP and groups * half % BOX == 0 and scale.data_ptr() % 16 == 0
    usual = usual and stages.is_regular(x, packed) and packed.numel() >= LEAST_BYTES
    usual = usual and not program.architecture.startswith("sm_12")  # its multiprocessors have 100 KiB
    if not usual or not 0 < m <= COLUMNS or depth < 2:
        stages.multiply(program, x, packed, scale, y)
        return y
    grid = min(-(-n // ROWS), BLOCKS * program.multiprocessor_count)
    boxes = tensor_map(packed.view(n, groups * half), (ROWS, BOX))
    sizes = m, n, groups * half, depth
    program.launch(
        "stream", grid, WARPS * WARP, boxes, x, scale, y, *sizes, shared_bytes=SHARED_BYTES, overlaps=True
    )
    return y
