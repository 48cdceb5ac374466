"""Launches amid.cuh: TF32 products of a large matrix whose rows begin anywhere, without a copy of it."""

from dataclasses import dataclass

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.shared.whole_rows import both_in_whole_units

_CLASSES = 4  # rows as many apart begin alike in words of 16 bytes
_STEP = 32  # of k
_PLACES = _STEP + _CLASSES  # of a row in a stage
_FLOAT, _WORD = 4, 16  # bytes
_ROW = 128  # bytes of a row of the other matrix in a stage
CLUSTERS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Tile:
    """Rows of the large matrix and of the other one, stages of the ring."""

    rows: int
    columns: int
    stages: int

    @property
    def name(self) -> str:
        return f"amid_{self.rows}x{self.columns}"

    @property
    def threads(self) -> int:
        """A warpgroup for each 64 rows, and a warp that copies."""
        return self.rows * 2 + 32

    @property
    def shared_bytes(self) -> int:
        """The ring and its barriers."""
        return self.stages * (self.rows * _PLACES * _FLOAT + self.columns * _ROW + 2 * 8)

    def count(self, m: int, n: int) -> int:
        return -(-m // self.rows) * -(-n // self.columns)


# As in amid.cuh.
TILES = (
    Tile(64, 32, stages=10),
    Tile(64, 64, stages=10),
    Tile(64, 96, stages=8),
    Tile(64, 128, stages=8),
    Tile(64, 144, stages=7),
    Tile(128, 64, stages=7),
    Tile(128, 96, stages=6),
    Tile(128, 112, stages=6),
    Tile(128, 128, stages=6),
    Tile(128, 144, stages=6),
    Tile(128, 192, stages=5),
)


def takes(x: torch.Tensor) -> bool:
    """Whether each class has several rows, and TMA can begin at all of them within X."""
    return (
        x.shape[0] >= 2 * _CLASSES
        and x.shape[1] >= _CLASSES
        and x.is_contiguous()
        and x.data_ptr() % _WORD == 0
    )


def classes(x: torch.Tensor) -> list[tuple[torch.Tensor, int]]:
    """Every fourth row as a matrix that begins at whole 16 bytes, and how many elements before its own."""
    m, k = x.shape
    views: list[tuple[torch.Tensor, int]] = []
    for first in range(_CLASSES):
        shift = first * k % _CLASSES
        rows = -(-(m - first) // _CLASSES)
        begin = x.storage_offset() + first * k - shift
        views.append((x.as_strided((rows, shift + k), (_CLASSES * k, 1), begin), shift))
    return views


def launch(
    program: CudaProgram, tile: Tile, cluster: int, a: torch.Tensor, b: torch.Tensor, *, turned: bool
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), of which B is the large matrix where it is ``turned``."""
    x, y = (b, a) if turned else (a, b)
    (m, k), n = x.shape, y.shape[0]
    c = torch.empty((a.shape[0], b.shape[0]), device=a.device)
    whole, _ = both_in_whole_units(program, y, y.new_empty((1, _WORD // _FLOAT)))
    views = classes(x)
    slice_k = -(-k // (cluster * _STEP)) * _STEP
    program.launch(
        tile.name,
        tile.count(m, n) * cluster,
        tile.threads,
        *(tensor_map(view, (tile.rows // _CLASSES, _PLACES)) for view, _ in views),
        tensor_map(whole, (tile.columns, _STEP)),
        c,
        m,
        n,
        k,
        sum(shift << 8 * place for place, (_, shift) in enumerate(views)),
        slice_k,
        int(turned),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
        cluster=cluster,
    )
    return c
