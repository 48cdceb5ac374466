"""Launcher of cuda_tf32x3.cu: float32 by three products in TF32, by TMA and wgmma."""

from dataclasses import dataclass

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

_ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh
_STEP = _ROW // 4
_ROWS = 128  # of every tile
_SPLIT_THREADS = 256


@dataclass(frozen=True)
class Tile:
    """A kernel's columns of C, stages of its ring, blocks of its cluster, time of a step on an H200."""

    columns: int
    stages: int
    cluster: int
    step_ns: int

    @property
    def shared_bytes(self) -> int:
        stores = 2 * _ROWS * _ROW
        return self.stages * (2 * (_ROWS + self.columns) * _ROW + 2 * 8) + stores

    def count(self, m: int, n: int) -> int:
        """Tiles that cover C, in whole clusters."""
        return -(-m // (_ROWS * self.cluster)) * self.cluster * -(-n // self.columns)


# Those of 128 columns in the order in which they are preferred.
TILES = {
    "tile_128x128": Tile(128, stages=3, cluster=1, step_ns=1030),
    "tile_128x128_pair": Tile(128, stages=3, cluster=2, step_ns=1030),
    "tile_128x64": Tile(64, stages=4, cluster=1, step_ns=680),
}
_LARGE = 2**25  # elements of C, from which on tiles read less of B where two blocks share it


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous. Raises Refusal for 16 bits and where wgmma is missing."""
    if a.dtype != torch.float32:
        raise Refusal("matmul/cuda_tf32x3 multiplies float32; 16-bit elements need one product, not three.")
    needs_hopper("matmul/cuda_tf32x3", a.device)
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/cuda_tf32x3", m, n, k)
    return launch(program, choose(m, n, program.multiprocessor_count), a, b)


def choose(m: int, n: int, multiprocessors: int) -> str:
    """The tile that takes least time: large ones need fewer bytes a FLOP, small ones fill more units."""
    tiles = {name: tile for name, tile in TILES.items() if tile.cluster > 1 or m * n < _LARGE}
    return min(tiles, key=lambda name: -(-tiles[name].count(m, n) // multiprocessors) * tiles[name].step_ns)


def launch(program: CudaProgram, name: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness."""
    tile = TILES[name]
    (m, k), n = a.shape, b.shape[1]
    if not m * n:
        return torch.empty((m, n), device=a.device)
    width = max(k + -k % 4, 4)  # rows of whole 16 bytes
    a_parts = torch.empty((2, m, width), device=a.device)
    b_parts = torch.empty((2, n, width), device=a.device)
    # Rows of whole 16 bytes; where C has others, a copy at the end makes them so, and counts as time.
    c = torch.empty((m, n + -n % 4), device=a.device)
    blocks_of_a = -(-m // 32) * -(-width // 128)
    blocks_of_b = -(-n // 64) * -(-width // 64)
    program.launch(
        "split", blocks_of_a + blocks_of_b, _SPLIT_THREADS,
        a, a_parts[0], a_parts[1], b, b_parts[0], b_parts[1], m, n, k, width, blocks_of_a,
    )  # fmt: skip
    a_box, b_box = (_ROWS, _STEP), (tile.columns // tile.cluster, _STEP)
    program.launch(
        name,
        min(tile.count(m, n), program.multiprocessor_count) // tile.cluster * tile.cluster,
        384,
        *(tensor_map(part, a_box) for part in a_parts),
        *(tensor_map(part, b_box) for part in b_parts),
        tensor_map(c, (64, _STEP)),
        m,
        n,
        k,
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return c[:, :n].contiguous()
