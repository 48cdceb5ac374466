"""Launches the kernels of ``stages.cuh`` and ``plain.cuh``, which take every size."""

import functools
from dataclasses import dataclass

import torch

from roofscope import CudaProgram

WARP = 32
THREADS = 256  # of multiply_any
STEP = 64  # packed bytes of a row in a step, as in fragments.cuh
CLUSTERS = (1, 2, 4, 8, 16)
NO_CLUSTERS = "sm_8"
FEWER_ARE_ALLOWED = "sm_12"  # blocks of a cluster, of which it has 8 at most


@dataclass(frozen=True)
class Tile:
    """Rows of weights and of x in a block, its warps, steps under way in each, blocks of a multiprocessor."""

    rows: int
    columns: int
    warps: int
    depth: int
    at_once: int

    @property
    def shared_bytes(self) -> int:
        """A lane has 16 bytes of every 8 rows of weights, and 64 of every 8 rows of x."""
        return self.warps * self.depth * (self.rows // 8 + self.columns // 8 * 4) * WARP * 16

    def count(self, m: int, n: int) -> int:
        """Tiles that cover y."""
        return -(-n // self.rows) * -(-m // self.columns)


# As in every_size.cuh.
TILES = (
    Tile(16, 8, warps=8, depth=3, at_once=3),
    Tile(32, 16, warps=8, depth=2, at_once=2),
    Tile(48, 32, warps=4, depth=2, at_once=2),
)

# A guess, after times of these tiles alone on an H200, in nanoseconds.
_START_NS, _MEETING_NS = 2000, 1500
_STEP_NS = 900


def is_regular(x: torch.Tensor, packed: torch.Tensor) -> bool:
    """Whether groups are a power of two from 32 on, and 16 bytes at a time can be loaded."""
    half = packed.shape[2]
    return half % 16 == 0 and half & (half - 1) == 0 and (x.data_ptr() | packed.data_ptr()) % 16 == 0


def multiply(
    program: CudaProgram, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, y: torch.Tensor
) -> None:
    """Fills ``y``, (m, n)."""
    n, groups, half = packed.shape
    m = x.shape[0]
    if not is_regular(x, packed):
        blocks = -(-m * n * WARP // THREADS)
        program.launch("multiply_any", blocks, THREADS, x, packed, scale, y, m, n, groups, half)
        return
    most = 1 if program.architecture.startswith(NO_CLUSTERS) else CLUSTERS[-1]
    if program.architecture.startswith(FEWER_ARE_ALLOWED):
        most //= 2
    launch(program, *best(m, n, groups * half, program.multiprocessor_count, most), x, packed, scale, y)


def launch(
    program: CudaProgram,
    tile: Tile,
    cluster: int,
    x: torch.Tensor,
    packed: torch.Tensor,
    scale: torch.Tensor,
    y: torch.Tensor,
) -> None:
    """Multiply regular inputs by this tile, shared by so many blocks."""
    n, groups, half = packed.shape
    m = x.shape[0]
    name = f"multiply_{tile.rows}x{tile.columns}" + ("" if half % STEP == 0 else "_scaled")
    blocks, sizes = tile.count(m, n) * cluster, (m, n, groups * half, half.bit_length() - 1)
    shared_bytes = tile.shared_bytes
    program.launch(
        *(name, blocks, tile.warps * WARP, x, packed, scale, y, *sizes),
        shared_bytes=shared_bytes,
        cluster=cluster,
    )


@functools.lru_cache(maxsize=4096)
def best(m: int, n: int, row_bytes: int, multiprocessors: int, most: int) -> tuple[Tile, int]:
    """The tile for so many rows of x, and the blocks of least time that share it, so ``most`` at most."""
    tile = next((tile for tile in TILES if m <= tile.columns), TILES[-1])
    steps, slots = -(-row_bytes // STEP), multiprocessors * tile.at_once

    def time_ns(cluster: int) -> int:
        rounds = -(-tile.count(m, n) * cluster // slots)
        of_warp = -(-steps // (tile.warps * cluster))
        return rounds * (_START_NS + of_warp * _STEP_NS + (_MEETING_NS if cluster > 1 else 0))

    return tile, min((cluster for cluster in CLUSTERS if cluster <= most), key=time_ns)
