"""Launcher of cuda_halves.cu: a product of scaled blocks in FP8, tiles twice as wide as a product."""

from dataclasses import dataclass

import torch

from roofscope import Choice, CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared import wgmma_tiles
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# Macros of cuda_halves.cu too.
ORDER = Choice(0, 1, 2)
A_IN_REGISTERS = Choice(0, 1)

BLOCK = 128


@dataclass(frozen=True)
class Tile(wgmma_tiles.Tile):
    """With the scales of each stage behind the boxes."""

    @property
    def shared_bytes(self) -> int:
        return super().shared_bytes + self.stages * (self.rows + 4) * 4


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
    key = "matmul_fp8_blocks/cuda_halves"
    if a.dtype != torch.float8_e4m3fn:
        raise Refusal(f"{key} multiplies E4M3; matmul takes wider elements.")
    needs_hopper(key, a.device)
    (m, k), n = a.shape, b.shape[0]
    require_32_bit_product(key, m, n, k)
    name = choose(m, n, program.multiprocessor_count)
    return launch(program, name, a.view(torch.uint8), b.view(torch.uint8), scale_a, scale_b)


def choose(m: int, n: int, multiprocessors: int) -> str:
    """The tile that takes least time: large ones need fewer bytes a FLOP, small ones fill more units."""

    def time(name: str) -> int:
        return -(-TILES[name].count(m, n) // multiprocessors) * TILES[name].step_ns

    return min(TILES, key=time)


def launch(program: CudaProgram, name: str, *inputs: torch.Tensor) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness; A and B as bytes."""
    a, b, scale_a, scale_b = inputs
    tile, (m, k), n = TILES[name], a.shape, b.shape[0]
    # Rows of whole 16 bytes; where C has others, a copy at the end makes them so, and counts as time.
    c = torch.empty((m, n + -n % 8), dtype=torch.bfloat16, device=a.device)
    if not m * n:
        return c[:, :n].contiguous()
    a, b = in_whole_units(a), in_whole_units(b)
    program.launch(
        *(name, tile.blocks(tile.count(m, n), program.multiprocessor_count), tile.threads),
        *(tensor_map(a, (tile.rows, BLOCK)), tensor_map(b, (tile.b_rows, BLOCK))),
        *(tensor_map(c, (64, 64)), scale_a, scale_b, m, n, k),
        shared_bytes=tile.shared_bytes,
    )
    return c[:, :n].contiguous()
