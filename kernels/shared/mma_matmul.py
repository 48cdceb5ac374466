"""Launches what mma_matmul.cuh compiles to: the choice of a tile that fits the GPU's shared memory."""

from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram
from roofscope.kernels.shared.limits import require_32_bit_product

_CHUNK = 16  # bytes of a copy


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, bytes of k in a stage, stages, threads."""

    rows: int
    columns: int
    row_bytes: int
    stages: int
    threads: int

    @property
    def shared_bytes(self) -> int:
        return self.stages * (self.rows + self.columns) * self.row_bytes

    def count(self, m: int, n: int) -> int:
        return -(-m // self.rows) * -(-n // self.columns)


# From the largest: what fits and fills the GPU. sm_86, sm_89 and sm_120 have 99 KiB, the second takes 96.
TILES = {
    "tile_128x256_deep": Tile(128, 256, row_bytes=128, stages=3, threads=256),
    "tile_128x256": Tile(128, 256, row_bytes=64, stages=4, threads=256),
    "tile_128x128": Tile(128, 128, row_bytes=64, stages=4, threads=128),
    "tile_64x64": Tile(64, 64, row_bytes=128, stages=3, threads=128),
    "tile_64x64_any": Tile(64, 64, row_bytes=128, stages=3, threads=128),
}


def multiply(
    program: CudaProgram, key: str, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """C (m x n) of a dtype from A (m x k) and B, k x n in 16 bits and n x k otherwise.

    Raises Refusal under the name ``key`` beyond 32-bit sizes.
    """
    m, n = a.shape[0], b.shape[1 if b.element_size() == 2 else 0]
    require_32_bit_product(key, m, n, a.shape[1])
    return launch(program, choose(program, a, b, n), a, b, dtype, *extra)


def choose(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, n: int) -> str:
    """The largest tile that fits: one so large that multiprocessors stay idle costs more than it saves."""
    (m, k), unit = a.shape, _CHUNK // a.element_size()
    if n % 8 or k % unit or a.data_ptr() % _CHUNK or b.data_ptr() % _CHUNK:
        return "tile_64x64_any"
    properties = torch.cuda.get_device_properties(a.device)
    if a.element_size() == 1 and 9 <= properties.major < 12:
        return "tile_64x64"  # as in mma_matmul.cuh
    limit = properties.shared_memory_per_block_optin
    for name in ("tile_128x256_deep", "tile_128x256", "tile_128x128"):
        tile = TILES[name]
        if tile.shared_bytes <= limit and tile.count(m, n) >= program.multiprocessor_count:
            return name
    return "tile_64x64"


def launch(
    program: CudaProgram, name: str, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness."""
    (m, k), n, tile = a.shape, b.shape[1 if b.element_size() == 2 else 0], TILES[name]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    shared_bytes = tile.shared_bytes
    program.launch(name, tile.count(m, n), tile.threads, a, b, c, m, n, k, *extra, shared_bytes=shared_bytes)
    return c
