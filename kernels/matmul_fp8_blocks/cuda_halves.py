"""Launcher of cuda_halves.cu: a product of scaled blocks in FP8, tiles twice as wide as a product."""

import torch

from roofscope import Choice, CudaProgram
from roofscope.kernels.matmul_fp8_blocks.scaled_blocks import Tile, launch, require_blocks
from roofscope.kernels.shared.wgmma_tiles import fastest

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# Macros of halves.cuh too.
ORDER = Choice(0, 1, 2)
A_IN_REGISTERS = Choice(0, 1)

# As in cuda_halves.cu, and the time of a step: a guess, after cuda_wgmma on an H100.
TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=700, cluster=2),
    "tile_128x256": Tile(128, 256, stages=4, step_ns=750),
    "tile_128x128_pair": Tile(128, 128, stages=5, step_ns=460, cluster=2),
    "tile_128x128": Tile(128, 128, stages=5, step_ns=525),
}


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16; ``reference.py`` has the scales.

    Raises Refusal where wgmma is missing and beyond 32-bit sizes.
    """
    m, n = require_blocks("matmul_fp8_blocks/cuda_halves", a, b)
    name = choose(m, n, program.multiprocessor_count)
    tile = TILES[name]
    return launch(program, name, tile, (tile.b_rows,), a, b, scale_a, scale_b)


def choose(m: int, n: int, multiprocessors: int) -> str:
    return fastest(TILES, m, n, multiprocessors)
