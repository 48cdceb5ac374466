"""Launches narrow_tf32.cuh: TF32 products of a long matrix and one of few rows, kept in shared memory."""

import torch

from roofscope import CudaProgram

_THREADS = 256
_BLOCK_ROWS = 128
_SLICE = 16  # of k
_TILE = 8  # rows of the narrow matrix
_TILES = (2, 4, 5, 6, 8, 12)  # of a kernel
_TOGETHER = 2  # blocks of a multiprocessor
MOST_ROWS = _TILE * _TILES[-1]
_MOST_SHARED = 100 * 1024  # so that a multiprocessor has two blocks


def _pitch(k: int) -> int:
    """Floats from a kept row to the next: 8 lanes' words fall in different banks."""
    slices = -(-k // _SLICE)
    return (slices + 1 - slices % 2) * _SLICE


def _tiles(n: int) -> int:
    return next(tiles for tiles in _TILES if n <= tiles * _TILE)


def _width(*matrices: torch.Tensor) -> int:
    """Elements that a lane may read at once of rows of all."""
    for width in (4, 2):
        if all(x.shape[1] % width == 0 and x.data_ptr() % (4 * width) == 0 for x in matrices):
            return width
    return 1


def takes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether one of both has few rows and lies in shared memory as a whole."""
    n, k = min(a.shape[0], b.shape[0]), a.shape[1]
    return 0 < n <= MOST_ROWS and k > 0 and _tiles(n) * _TILE * _pitch(k) * 4 <= _MOST_SHARED


def launch(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), of which one has few rows."""
    turned = b.shape[0] > a.shape[0]
    x, y = (b, a) if turned else (a, b)
    (m, k), n = x.shape, y.shape[0]
    c = torch.empty((a.shape[0], b.shape[0]), device=a.device)
    tiles = _tiles(n)
    program.launch(
        f"narrow_{_width(x, y)}_{tiles}{'_turned' if turned else ''}",
        min(-(-m // _BLOCK_ROWS), _TOGETHER * program.multiprocessor_count),
        _THREADS,
        x,
        y,
        c,
        m,
        n,
        k,
        shared_bytes=tiles * _TILE * _pitch(k) * 4,
        overlaps=True,
    )
    return c
