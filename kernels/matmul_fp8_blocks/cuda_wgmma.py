"""Launcher of cuda_wgmma.cu: a product of scaled blocks in FP8 on the tensor cores by TMA and wgmma."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.matmul_fp8_blocks.scaled_blocks import launch, require_blocks
from roofscope.kernels.shared.wgmma_tiles import Tile, fastest

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# As in cuda_wgmma.cu, and the time of a step on an H100; that of the last one is a guess.
TILES = {
    "tile_128x128_pair": Tile(128, 128, stages=6, step_ns=460, cluster=2),
    "tile_128x128": Tile(128, 128, stages=6, step_ns=525),
    "tile_64x128": Tile(64, 128, stages=8, step_ns=310),
}


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16; ``reference.py`` has the scales.

    Raises Refusal where wgmma is missing and beyond 32-bit sizes.
    """
    m, n = require_blocks("matmul_fp8_blocks/cuda_wgmma", a, b)
    name = choose(m, n, program.multiprocessor_count)
    tile = TILES[name]
    return launch(program, name, tile, (tile.b_rows,), a, b, scale_a, scale_b)


def choose(m: int, n: int, multiprocessors: int) -> str:
    return fastest(TILES, m, n, multiprocessors)
