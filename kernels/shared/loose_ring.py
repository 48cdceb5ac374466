"""A tile of what ``loose_ring.cuh`` compiles to, as launchers choose among several."""

from dataclasses import dataclass

import torch

from roofscope import Refusal

_ROW = 128  # bytes of k in a step, as in wgmma_matmul.cuh
_PRODUCERS = 2  # warpgroups
_MOST_COLUMNS = 2**23  # so that 32 bits count the elements of the rows that a thread brings at once


@dataclass(frozen=True)
class LooseTile:
    """A kernel's tile of C, stages of its ring, and how many times 64 along k one has."""

    rows: int
    columns: int
    stages: int
    steps: int = 1

    @property
    def threads(self) -> int:
        """A warpgroup for each 64 rows, and those that bring A and B."""
        return (self.rows // 64 + _PRODUCERS) * 128

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory: the ring with its barriers, and two boxes a warpgroup for its stores."""
        return self.stages * ((self.rows + self.columns) * _ROW * self.steps + 2 * 8) + 2 * self.rows * _ROW

    def count(self, m: int, n: int) -> int:
        """Tiles that cover C."""
        return -(-m // self.rows) * -(-n // self.columns)

    def blocks(self, tiles: int, multiprocessors: int) -> int:
        """Of a grid that takes so many tiles: a block a multiprocessor at most."""
        return min(tiles, multiprocessors)


def as_they_lie(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both with rows one behind the other. Raises Refusal for longer ones than the kernels count."""
    if x.shape[1] > _MOST_COLUMNS:
        raise Refusal(f"Rows that begin anywhere may have {_MOST_COLUMNS} elements.")
    return x.contiguous(), w.contiguous()
