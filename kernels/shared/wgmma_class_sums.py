"""Launches wgmma_class_sums.cuh, and chooses: products in 16 bits of a large B whose rows begin anywhere."""

from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.shared.wgmma_classes import classes_of

_STEP = 64  # of k
_UNIT = 8  # elements in 16 bytes
_MOST_N = 2**27  # so that a row of all classes is counted in 32 bits
CLUSTERS = (2, 4, 8)


@dataclass(frozen=True)
class SumsTile:
    """A kernel: rows and columns of C, stages of the ring, and blocks that a multiprocessor has room for."""

    rows: int
    columns: int
    stages: int
    together: int

    @property
    def name(self) -> str:
        return f"class_sums_{self.rows}x{self.columns}"

    @property
    def threads(self) -> int:
        """A warpgroup for each 64 columns, and a warp that copies."""
        return self.columns * 2 + 32

    @property
    def width(self) -> int:
        """Columns that all classes have."""
        return self.columns - _UNIT

    @property
    def shared_bytes(self) -> int:
        return self.stages * ((self.rows + self.columns) * _STEP * 2 + 16)

    def count(self, m: int, n: int) -> int:
        return -(-m // self.rows) * -(-n // self.width)


TILES = (
    SumsTile(48, 128, stages=4, together=2),
    SumsTile(64, 128, stages=4, together=2),
    SumsTile(96, 128, stages=4, together=2),
    SumsTile(128, 128, stages=3, together=2),
    SumsTile(160, 192, stages=5, together=1),
    SumsTile(192, 192, stages=4, together=1),
    SumsTile(224, 128, stages=4, together=1),
)


def takes(b: torch.Tensor) -> bool:
    """Whether rows of B begin amid 16 bytes, B itself does not, and every class has one."""
    k, n = b.shape
    classes = classes_of(n)
    return b.data_ptr() % 16 == 0 and 1 < classes <= k and _UNIT < n < _MOST_N


def multiply_class_sums(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    tile: SumsTile,
    cluster: int,
) -> torch.Tensor:
    """C of a B that these kernels take, by clusters of as many blocks a tile as B has classes, or more."""
    (m, k), n = a.shape, b.shape[1]
    classes = classes_of(n)
    each, longer = divmod(k, classes)
    units = -(-(each + (longer > 0)) // _STEP) * _STEP // _UNIT  # of 16 bytes, that a class has of a row of A
    ordered = torch.empty((m, classes * units * _UNIT), dtype=a.dtype, device=a.device)
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    count = m * classes * units
    program.launch("ordered_classes", -(-count // 256), 256, a, ordered, m, k, classes, units, overlaps=True)
    row = classes * n
    b_map = tensor_map(b.as_strided((each, row), (row, 1)), (_STEP, _STEP))
    in_longer = b.as_strided((each + 1, longer * n), (row, 1)) if longer else None
    program.launch(
        tile.name,
        tile.count(m, n) * cluster,
        tile.threads,
        tensor_map(ordered, (tile.rows, _STEP)),
        b_map,
        b_map if in_longer is None else tensor_map(in_longer, (_STEP, _STEP)),
        c,
        m,
        n,
        k,
        classes,
        units,
        *extra,
        shared_bytes=tile.shared_bytes,
        overlaps=True,
        cluster=cluster,
    )
    return c
