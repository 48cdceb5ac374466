"""Launches what wgmma_matmul.cuh compiles to: the choice of a tile, the tensor maps, the padding."""

from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram, needs_hopper, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units

_ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh
_BAND = 64
_EXCHANGE_NS = 6000  # what a shared tile takes beyond half its steps, on an H100


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, stages of its ring, time of a step on an H200.

    ``cluster`` blocks compute tiles one above the other; or ``parts`` of them share a last tile, each over a
    part of k.
    """

    rows: int
    columns: int
    stages: int
    cluster: int
    step_ns: int
    parts: int = 1

    @property
    def threads(self) -> int:
        return (self.rows // 64 + 1) * 128

    @property
    def shared_bytes(self) -> int:
        stores = 2 * self.rows * _ROW
        return self.stages * ((self.rows + self.columns) * _ROW + 2 * 8) + stores + 2 * 8

    def count(self, m: int, n: int) -> int:
        """Tiles that cover C, in whole clusters."""
        return -(-m // (self.rows * self.cluster)) * self.cluster * -(-n // self.columns)

    def blocks(self, m: int, n: int, multiprocessors: int) -> int:
        """Of the grid, in whole clusters: at most one a multiprocessor."""
        together = self.cluster * self.parts
        return min(self.count(m, n) * self.parts, multiprocessors) // together * together

    def time_ns(self, m: int, n: int, steps: int, multiprocessors: int) -> int:
        """About that of a product of so many steps along k, but for what all tiles have in common."""
        blocks = self.blocks(m, n, multiprocessors)
        rounds, rest = divmod(self.count(m, n), max(blocks, 1))
        if rest * self.parts > blocks or self.parts == 1:
            return (rounds + bool(rest)) * steps * self.step_ns
        last = -(-steps // self.parts) * self.step_ns + _EXCHANGE_NS if rest else 0
        return rounds * steps * self.step_ns + last


TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, cluster=2, step_ns=660),
    "tile_128x256": Tile(128, 256, stages=4, cluster=1, step_ns=680),
    "tile_128x192": Tile(128, 192, stages=4, cluster=1, step_ns=525),
    "tile_128x128": Tile(128, 128, stages=6, cluster=1, step_ns=390),
    "tile_128x256_halves": Tile(128, 256, stages=4, cluster=1, step_ns=680, parts=2),
    "tile_128x192_halves": Tile(128, 192, stages=4, cluster=1, step_ns=525, parts=2),
    "tile_64x128": Tile(64, 128, stages=8, cluster=1, step_ns=240),
    "tile_64x64": Tile(64, 64, stages=8, cluster=1, step_ns=145),
}


def multiply(
    program: CudaProgram, key: str, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """C (m x n) of a dtype from A (m x k) and B, k x n in 16 bits and n x k otherwise.

    Raises Refusal under the name ``key`` where wgmma is missing and beyond 32-bit sizes.
    """
    needs_hopper(key, a.device)
    m, n = a.shape[0], b.shape[1 if b.element_size() == 2 else 0]
    require_32_bit_product(key, m, n, a.shape[1])
    steps = -(-a.shape[1] * a.element_size() // _ROW)
    return launch(program, choose(m, n, steps, program.multiprocessor_count), a, b, dtype, *extra)


def choose(m: int, n: int, steps: int, multiprocessors: int) -> str:
    """The tile that takes least time: large ones need fewer bytes a FLOP, small ones fill more units."""
    return min(TILES, key=lambda name: TILES[name].time_ns(m, n, steps, multiprocessors))


def launch(
    program: CudaProgram, name: str, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness."""
    tile, along_n = TILES[name], b.element_size() == 2
    (m, k), n = a.shape, b.shape[1 if along_n else 0]
    if not m * n:
        return torch.empty((m, n), dtype=dtype, device=a.device)
    # Rows of whole 16 bytes; where C has others, a copy at the end makes them so, and counts as time.
    c = torch.empty((m, n + -n % (16 // dtype.itemsize)), dtype=dtype, device=a.device)
    a, b = in_whole_units(a), in_whole_units(b)
    step = _ROW // a.element_size()
    b_box = (step, _BAND) if along_n else (tile.columns // tile.cluster, step)
    program.launch(
        name,
        tile.blocks(m, n, program.multiprocessor_count),
        tile.threads,
        tensor_map(a, (tile.rows, step)),
        tensor_map(b, b_box),
        tensor_map(c, (64, _ROW // dtype.itemsize)),
        m,
        n,
        k,
        *extra,
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return c[:, :n].contiguous()
