"""Launcher of cuda_pieces.cu: a product of scaled blocks in FP8, a piece multiplied beside one added up."""

from dataclasses import dataclass

import torch

from roofscope import CudaProgram
from roofscope.kernels.matmul_fp8_blocks import scaled_blocks
from roofscope.kernels.matmul_fp8_blocks.scaled_blocks import BLOCK, WHOLE_C, launch, require_blocks
from roofscope.kernels.shared.wgmma_tiles import fastest

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


@dataclass(frozen=True)
class Tile(scaled_blocks.Tile):
    """Of 192 columns, two share three blocks of B."""

    @property
    def b_boxes(self) -> tuple[int, int]:
        """Rows of B that a block copies of whole blocks, and of the rest of its columns."""
        extra = self.columns % BLOCK
        main = self.columns - extra
        return main // self.cluster, (extra or main) // self.cluster

    def count(self, m: int, n: int) -> int:
        if self.columns % BLOCK == 0:
            return super().count(m, n)
        blocks = -(-n // BLOCK)
        return -(-m // (self.rows * self.cluster)) * self.cluster * (blocks // 3 * 2 + blocks % 3)


# As in cuda_pieces.cu, and the time of a step on an H200 at 1.6 GHz.
TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=714, cluster=2),
    "tile_128x192_pair": Tile(128, 192, stages=4, step_ns=516, cluster=2),
}


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16; ``reference.py`` has the scales.

    Raises Refusal where wgmma is missing and beyond 32-bit sizes.
    """
    m, n = require_blocks("matmul_fp8_blocks/cuda_pieces", a, b)
    name = choose(m, n, program.multiprocessor_count)
    tile = TILES[name]
    # To store rows of C by threads would take registers that its sums have.
    c = launch(program, name, tile, tile.b_boxes, a, b, scale_a, scale_b, c_columns=n + -n % WHOLE_C)
    return c.contiguous()


def choose(m: int, n: int, multiprocessors: int) -> str:
    return fastest(TILES, m, n, multiprocessors)
