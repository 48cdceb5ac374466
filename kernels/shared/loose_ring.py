"""The tile of what ``loose_ring.cuh`` compiles to, as launchers choose among others."""

_TILE, _STEP, _STAGES = (
    64,
    128,
    6,
)  # rows and columns of a tile, elements along k of a stage, as in loose_ring.cuh
_MOST_ELEMENTS = 2**23  # of a row, so that 32 bits count those of the rows that a thread brings at once
# About the time of a step, for each row of A or B that a block brings, and of a tile besides.
_ROW_NS, _TILE_NS = 15.8, 1400


class LooseTile:
    """64 rows and as many columns of C."""

    columns = _TILE
    threads = 3 * 128  # a warpgroup that multiplies, and two that bring A and B
    shared_bytes = _STAGES * (2 * _TILE * 2 * _STEP + 2 * 8)  # the ring with its barriers

    @staticmethod
    def count(m: int, n: int) -> int:
        """Tiles that cover C."""
        return -(-m // _TILE) * -(-n // _TILE)

    @staticmethod
    def blocks(tiles: int, multiprocessors: int) -> int:
        """Of a grid that takes so many tiles: a block a multiprocessor at most."""
        return min(tiles, multiprocessors)

    @classmethod
    def time_ns(cls, m: int, n: int, k: int, multiprocessors: int) -> float:
        """About the time while blocks bring A and B. Infinite where k is none or too long."""
        if not 0 < k <= _MOST_ELEMENTS:
            return float("inf")
        rounds = -(-cls.count(m, n) // multiprocessors)
        return rounds * (-(-k // _STEP) * (_TILE + min(m, _TILE)) * _ROW_NS + _TILE_NS)
