"""Launcher of cuda_wgmma.cu: a product of scaled blocks in FP8 on the tensor cores by TMA and wgmma."""

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.matmul_fp8_blocks.scaled_blocks import BLOCK, launch, require_blocks
from roofscope.kernels.shared.wgmma_tiles import Tile, fastest
from roofscope.kernels.shared.whole_rows import both_in_whole_units

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# As in cuda_wgmma.cu, and the time of a step on an H100; that of the last one is a guess.
TILES = {
    "tile_128x128_pair": Tile(128, 128, stages=6, step_ns=460, cluster=2),
    "tile_128x128": Tile(128, 128, stages=6, step_ns=525),
    "tile_64x128": Tile(64, 128, stages=8, step_ns=310),
}

# Of which the blocks of a cluster share one, each over a part of k; and what it takes that their sums meet.
SHARED = {
    "shared_128x128": Tile(128, 128, stages=6, step_ns=525),
    "shared_64x128": Tile(64, 128, stages=8, step_ns=310),
}
SHARED_CLUSTERS = (2, 3, 4, 6, 8)
_MEETING_NS = 5000
_ALONE_NS = 1000


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16; ``reference.py`` has the scales.

    Raises Refusal where wgmma is missing and beyond 32-bit sizes.
    """
    m, n = require_blocks("matmul_fp8_blocks/cuda_wgmma", a, b)
    if m * n == 0:
        return torch.empty((m, n), dtype=torch.bfloat16, device=a.device)
    name, _, cluster = choose(m, n, a.shape[1], program.multiprocessor_count).partition("/")
    if cluster:
        return launch_shared(program, name, int(cluster), a, b, scale_a, scale_b)
    tile = TILES[name]
    return launch(program, name, tile, (tile.b_rows,), a, b, scale_a, scale_b)


def choose(m: int, n: int, k: int, multiprocessors: int) -> str:
    """A tile, or a shared one with the blocks that share it behind a stroke."""
    alone, steps = fastest(TILES, m, n, multiprocessors), -(-k // BLOCK)
    rounds = -(-TILES[alone].count(m, n) // multiprocessors)
    ways = {alone: rounds * steps * TILES[alone].step_ns + _ALONE_NS}
    for name, tile in SHARED.items():
        for cluster in SHARED_CLUSTERS:
            rounds = -(-tile.count(m, n) * cluster // multiprocessors)
            ways[f"{name}/{cluster}"] = rounds * (-(-steps // cluster) * tile.step_ns + _MEETING_NS)
    return min(ways, key=lambda way: ways[way])


def launch_shared(
    program: CudaProgram, name: str, cluster: int, a: torch.Tensor, b: torch.Tensor, *scales: torch.Tensor
) -> torch.Tensor:
    """Multiply by this tile, shared by so many blocks."""
    tile, (m, k), n = SHARED[name], a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=torch.bfloat16, device=a.device)
    a, b = both_in_whole_units(program, a.view(torch.uint8), b.view(torch.uint8))
    program.launch(
        *(name, tile.count(m, n) * cluster, tile.threads),
        *(tensor_map(a, (tile.rows, BLOCK)), tensor_map(b, (tile.columns, BLOCK)), *scales, m, n, k, c),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
        cluster=cluster,
    )
    return c
