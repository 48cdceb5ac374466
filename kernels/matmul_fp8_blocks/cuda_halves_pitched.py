"""Launcher of cuda_halves_pitched.cu: a product of scaled blocks in FP8 into wider rows of C.

TMA stores only rows that begin at multiples of 16 bytes. The caller gets a view of the first n columns, as
from torch.compile.
"""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.matmul_fp8_blocks.scaled_blocks import Tile, launch, require_blocks
from roofscope.kernels.shared.wgmma_tiles import fastest
from roofscope.kernels.shared.whole_rows import pitch

DOMAIN = "n * s % 16 != 0 and m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# As in cuda_halves_pitched.cu, with the times of cuda_halves.py.
TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=700, cluster=2),
    "tile_128x256": Tile(128, 256, stages=4, step_ns=750),
    "tile_128x128": Tile(128, 128, stages=5, step_ns=525),
}


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16, a view of wider rows.

    Raises Refusal where wgmma is missing, where rows of C are of whole 16 bytes, and beyond 32-bit sizes.
    """
    key = "matmul_fp8_blocks/cuda_halves_pitched"
    m, n = require_blocks(key, a, b)
    item = torch.bfloat16.itemsize
    columns = pitch(n * item, m) // item
    if columns == n:
        raise Refusal(f"{key} is for rows of C that are no whole 16 bytes; cuda_halves stores the others.")
    name = choose(m, n, program.multiprocessor_count)
    tile = TILES[name]
    return launch(program, name, tile, (tile.b_rows,), a, b, scale_a, scale_b, c_columns=columns)


def choose(m: int, n: int, multiprocessors: int) -> str:
    return fastest(TILES, m, n, multiprocessors)
