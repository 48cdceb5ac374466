"""Which tile of cuda_wgmma.cu multiplies runs of rows: a model of the time, fitted to 133 products (H200).

How long the runs are nobody on the host knows: they count as any length from none to twice the mean, and of
few tokens each goes to any expert.
"""

import functools
import math
from dataclasses import dataclass

from roofscope.kernels.shared.wgmma_tiles import Tile

_STEP = 64  # elements of k in a stage
_BAND = 64  # columns of the narrowest tile: of one that is wider than C by so many a part has nothing to do
_UNIT = 8  # elements of 16 bytes
_PAST_ONE, _OF_LAST = 0.80, 0.70  # rounds more where there are several, and of what the last one leaves idle
_BASE_NS, _BYTES_PER_NS = 1690, 4000
_COPY_NS, _COPIED_PER_NS = 950, 2990  # of a copy that has rows of whole 16 bytes
_THREE_STEPS = 3  # of a tile of which a multiprocessor has three: more were slower than the model says
# Rows times columns of C times k beyond which power bounds products, and what a step takes there (H100).
_LARGE, _LARGE_STEP_NS = 5 * 10**10, {"tile_128x256_pair": 740, "tile_128x192": 570}
_SEVERAL = 2  # tokens an expert, with which few have none
_LOOSE_END = 0.67  # of a round's end more, where threads store odd rows of C


def runs_of(tokens: int, experts: int) -> float:
    """About the experts with a token, if each goes anywhere; all of them where most have several."""
    if tokens >= _SEVERAL * experts:
        return experts
    return experts * (1 - (1 - 1 / experts) ** tokens)


@dataclass(frozen=True)
class RunsTile(Tile):
    """A tile of runs, with nanoseconds of a step, of a round beside its steps, and of the kernel's start.

    Two warpgroups may take tiles ``in_turns``, and a multiprocessor have several blocks ``at_once``.
    """

    round_ns: int = 0
    start_ns: int = 0
    in_turns: bool = False
    at_once: int = 1

    @property
    def threads(self) -> int:
        return 3 * 128 if self.in_turns else super().threads

    @property
    def shared_bytes(self) -> int:
        """In turns with boxes for the other warpgroup too, behind the barriers."""
        return super().shared_bytes + (2 * self.rows * 128 + 1024 if self.in_turns else 0)

    def blocks(self, tiles: int, multiprocessors: int) -> int:
        return super().blocks(tiles, multiprocessors * self.at_once)

    def most(self, tokens: int, experts: int, n: int) -> int:
        """Tiles of runs that end anywhere, in whole clusters."""
        rows = self.rows * self.cluster
        return (tokens // rows + min(experts, tokens)) * self.cluster * -(-n // self.columns)

    def work_ns(self, tokens: int, experts: int, n: int, k: int, multiprocessors: int) -> float:
        """Of all rounds, where memory takes no time."""
        runs, rows = runs_of(tokens, experts), self.rows * self.cluster
        of_run = max(tokens / runs / rows + 0.5, 1.0)
        full = runs * of_run * self.cluster * -(-n // self.columns) / (multiprocessors * self.at_once)
        rounds = full + _PAST_ONE + _OF_LAST * (math.ceil(full) - full) if full > 1 else 1.0
        end_ns = self.round_ns * (1 + _LOOSE_END * (n % _UNIT != 0))
        return rounds * (-(-k // _STEP) * self.step_ns + end_ns)


# As in cuda_wgmma.cu and in_turns.cuh.
TILES = {
    "tile_128x256_pair": RunsTile(128, 256, 4, step_ns=471, cluster=2, round_ns=1627, start_ns=825),
    "tile_128x192_pair": RunsTile(128, 192, 4, step_ns=378, cluster=2, round_ns=1349, start_ns=935),
    "tile_128x192": RunsTile(128, 192, 4, step_ns=457, round_ns=1539, start_ns=281),
    "tile_128x128_pair": RunsTile(128, 128, 6, step_ns=305, cluster=2, round_ns=891, start_ns=1080),
    "tile_64x128": RunsTile(64, 128, 8, step_ns=248, round_ns=897, start_ns=693),
    "tile_64x64": RunsTile(64, 64, 8, step_ns=201, round_ns=536, start_ns=716),
    "tile_64x64_thrice": RunsTile(64, 64, 3, step_ns=470, round_ns=756, at_once=3),
    "turns_64x256": RunsTile(64, 256, 4, step_ns=415, round_ns=905, start_ns=1260, in_turns=True),
    "turns_64x192": RunsTile(64, 192, 5, step_ns=333, round_ns=749, start_ns=1258, in_turns=True),
    "turns_64x128": RunsTile(64, 128, 7, step_ns=255, round_ns=520, start_ns=1210, in_turns=True),
    "turns_64x64": RunsTile(64, 64, 8, step_ns=204, round_ns=302, start_ns=1146, in_turns=True),
}


@functools.lru_cache(maxsize=4096)
def best(
    tokens: int, experts: int, n: int, k: int, multiprocessors: int, is_loose: bool
) -> tuple[str, float]:
    """The tile of least time, and that; rows that are ``is_loose`` want a copy of both matrices."""
    sizes = (tokens, experts, n, k)
    steps = -(-k // _STEP)
    memory_ns = 2 * (tokens * k + runs_of(tokens, experts) * n * k + tokens * n) / _BYTES_PER_NS
    copy_ns = _COPY_NS + 2 * k * (tokens + experts * n) / _COPIED_PER_NS if is_loose else 0
    times = {
        name: tile.start_ns + math.hypot(tile.work_ns(*sizes, multiprocessors), memory_ns)
        for name, tile in TILES.items()
        if (tile.at_once == 1 or steps <= _THREE_STEPS) and tile.columns < n + _BAND
    }
    name = min(times, key=lambda name: times[name])
    if tokens * n * k > _LARGE:
        name = _best_of_large(tokens, experts, n)
    return name, _BASE_NS + copy_ns + times[name]


def _best_of_large(tokens: int, experts: int, n: int) -> str:
    def time(name: str) -> float:
        tile = TILES[name]
        rows = tokens / tile.rows + min(experts, tokens) * tile.cluster / 2
        return rows * -(-n // tile.columns) * _LARGE_STEP_NS[name]

    return min(_LARGE_STEP_NS, key=time)
