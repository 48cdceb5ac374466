"""A tile of what ``wgmma_tiles.cuh`` compiles to, as launchers choose among several."""

from collections.abc import Mapping
from dataclasses import dataclass

_ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, stages of its ring, time of 128 bytes along k, blocks of its cluster."""

    rows: int
    columns: int
    stages: int
    step_ns: int
    cluster: int = 1

    @property
    def threads(self) -> int:
        """A warpgroup for each 64 rows, and one that copies."""
        return (self.rows // 64 + 1) * 128

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory: the ring with its barriers, and two boxes a warpgroup for its stores."""
        return self.stages * ((self.rows + self.columns) * _ROW + 2 * 8) + 2 * self.rows * _ROW

    @property
    def b_rows(self) -> int:
        """Rows of B that a block copies: the blocks of a cluster share them out."""
        return self.columns // self.cluster

    def count(self, m: int, n: int) -> int:
        """Tiles that cover C, in whole clusters."""
        return -(-m // (self.rows * self.cluster)) * self.cluster * -(-n // self.columns)

    def blocks(self, tiles: int, multiprocessors: int) -> int:
        """Of a grid that takes so many tiles: whole clusters, a block a multiprocessor at most."""
        return min(tiles, multiprocessors) // self.cluster * self.cluster


def fastest(tiles: Mapping[str, Tile], m: int, n: int, multiprocessors: int) -> str:
    """The tile that takes least time: large ones need fewer bytes a FLOP, small ones fill more units."""

    def time(name: str) -> int:
        return -(-tiles[name].count(m, n) // multiprocessors) * tiles[name].step_ns

    return min(tiles, key=time)
