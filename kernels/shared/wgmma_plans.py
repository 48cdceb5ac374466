"""Which tile of wgmma_matmul.cuh computes a product, and how blocks share its tiles: a model of the time.

Its constants are fitted to times on an H200 and an H100, of some hundred sizes by all their tiles.
"""

import functools
from dataclasses import dataclass

ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh
BAND = 64
EQUAL = 0  # of `parts`
_ALIGNED = (True, True)
_LINE_NS = 1.0  # of a line of L2 that a block copies, or of a part of one
_MULTICAST_BYTES_PER_NS = 153  # into a multiprocessor
_DRAM_BYTES_PER_NS = 4000


@dataclass(frozen=True)
class Plan:
    """Blocks of a grid, tiles that clusters compute one by one, and about the time of the product."""

    blocks: int
    alone: int
    time_ns: float


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, stages of its ring, and the time of a step if nothing but products takes time.

    The blocks of a ``cluster`` compute tiles one above the other, or ``beside`` each other. Where few tiles
    are left for a last round, each may be shared by ``parts`` blocks, over a part of k each; or, where that
    is 0, all clusters share these tiles equally, wherever in a tile a share begins. A tile ``across`` has 64
    columns, not rows, for each warpgroup.
    """

    rows: int
    columns: int
    stages: int
    step_ns: int
    cluster: int = 1
    beside: bool = False
    parts: int = 1
    across: bool = False

    @property
    def warpgroups(self) -> int:
        """That multiply."""
        return (self.columns if self.across else self.rows) // 64

    @property
    def threads(self) -> int:
        return (self.warpgroups + 1) * 128

    @property
    def _step_bytes(self) -> int:
        return (self.rows + -(-self.columns // BAND) * BAND) * ROW

    @property
    def shared_bytes(self) -> int:
        stores = (1 if self.warpgroups == 3 else 2) * self.warpgroups * 64 * ROW
        return self.stages * (self._step_bytes + 2 * 8) + stores + 2 * 8

    @property
    def c_rows(self) -> int:
        """Of a box of C."""
        if not self.across:
            return 64
        return 8 if self.rows // max(self.parts, 1) % 16 else 16

    def count(self, m: int, n: int) -> int:
        """Tiles of a cluster that cover C."""
        rows, columns = self.rows * self.cluster, self.columns
        if self.beside:
            rows, columns = self.rows, self.columns * self.cluster
        return -(-m // rows) * -(-n // columns)

    def step_of(self, aligned: tuple[bool, bool]) -> float:
        """Time of a step where rows of A, and of B, begin on lines of L2, or else lie in two of them each."""
        of_a, of_b = float(self.rows), float(-(-self.columns // BAND) * BAND)
        if self.beside:
            of_a /= self.cluster
        else:
            of_b /= self.cluster
        lines_ns = _LINE_NS * (of_a * (1 if aligned[0] else 2) + of_b * (1 if aligned[1] else 2))
        multicast_ns = self._step_bytes / _MULTICAST_BYTES_PER_NS if self.cluster > 1 else 0
        return _both(self.step_ns, lines_ns, multicast_ns, power=3)

    def plans(
        self, m: int, n: int, steps: int, multiprocessors: int, aligned: tuple[bool, bool] = _ALIGNED
    ) -> list[Plan]:
        """With every tile computed by one cluster; and with those of the last round shared, if that can be.

        What the times of all tiles have in common, the start of a kernel, is not counted.
        """
        together = self.cluster * max(self.parts, 1)
        # Not all multiprocessors are in clusters of four or eight: 120 of 132 were.
        most = (multiprocessors if together <= 2 else multiprocessors * 10 // 11) // together * together
        units, count = most // self.cluster, self.count(m, n)
        whole, rest = divmod(count, units)
        step_ns = self.step_of(aligned)
        end_ns = self.rows * self.columns / 33  # of a tile
        tile_ns = steps * step_ns + end_ns
        dram_ns = ((m + n) * steps * ROW + 2 * m * n) / _DRAM_BYTES_PER_NS

        def plan(blocks: int, alone: int, steps_ns: float, more_ns: float) -> Plan:
            return Plan(blocks, alone, _both(steps_ns, dram_ns, power=2) + more_ns)

        blocks = min(-(-count * self.cluster // together) * together, most)
        plans = [plan(blocks, count, (whole + bool(rest)) * tile_ns, 300 if self.cluster > 1 else 0)]
        meet_ns = 300 * (together.bit_length() - 1)
        if self.parts > 1 and 0 < rest * self.parts <= units:
            shared_ns = whole * tile_ns + -(-steps // self.parts) * step_ns + end_ns
            exchange_ns = 100 + self.rows * self.columns / 8
            grid = most if whole else rest * self.parts
            plans.append(plan(grid, count - rest, shared_ns, exchange_ns + meet_ns))
        elif (
            self.parts == EQUAL and rest * steps > 0 and (rest + units) * steps < 2**31
        ):  # which 32 bits count
            # A tile's parts meet in memory, where one block adds them one by one.
            shared_ns = whole * tile_ns + -(-rest * steps // units) * step_ns + end_ns
            plans.append(plan(most, count - rest, shared_ns, 7000 + 500 * -(-units // rest) + meet_ns))
            # With a whole round more to share, a tile has two or three parts, most of them there in time.
            if whole:
                shared_ns = (whole - 1) * tile_ns + -(-(rest + units) * steps // units) * step_ns + 2 * end_ns
                plans.append(plan(most, count - rest - units, shared_ns, 6000 + meet_ns))
        return plans

    def plan(
        self, m: int, n: int, steps: int, multiprocessors: int, aligned: tuple[bool, bool] = _ALIGNED
    ) -> Plan:
        """The one of least time."""
        return min(self.plans(m, n, steps, multiprocessors, aligned), key=lambda plan: plan.time_ns)


def _both(*times: float, power: int) -> float:
    """The time of things beside each other, of which the longest one hides most of the others."""
    return sum(time**power for time in times) ** (1 / power)


TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=622, cluster=2, parts=EQUAL),
    "tile_128x224_pair": Tile(128, 224, stages=4, step_ns=529, cluster=2, parts=EQUAL),
    "tile_128x256": Tile(128, 256, stages=4, step_ns=645, parts=2),
    "tile_128x192": Tile(128, 192, stages=4, step_ns=470, parts=2),
    "tile_128x128": Tile(128, 128, stages=6, step_ns=292, parts=2),
    "tile_64x128": Tile(64, 128, stages=8, step_ns=150, parts=2),
    "tile_64x64_halves": Tile(64, 64, stages=8, step_ns=125, parts=2),
    "tile_64x64": Tile(64, 64, stages=8, step_ns=125),
}
# More of them, where C has 16 bits.
SHORT_TILES = {
    "across_208x128_pair": Tile(
        208, 128, stages=4, step_ns=515, cluster=2, beside=True, parts=EQUAL, across=True
    ),
    "across_192x128_pair": Tile(
        192, 128, stages=4, step_ns=475, cluster=2, beside=True, parts=EQUAL, across=True
    ),
    "across_160x128_pair": Tile(
        160, 128, stages=5, step_ns=389, cluster=2, beside=True, parts=EQUAL, across=True
    ),
    "across_144x128_pair": Tile(
        144, 128, stages=5, step_ns=348, cluster=2, beside=True, parts=EQUAL, across=True
    ),
    "across_192x192_pair": Tile(192, 192, stages=4, step_ns=694, cluster=2, beside=True, across=True),
    "across_176x192_above": Tile(176, 192, stages=4, step_ns=645, cluster=2, across=True),
    "across_96x192_above": Tile(96, 192, stages=5, step_ns=374, cluster=2, across=True),
    "tile_64x128_above": Tile(64, 128, stages=8, step_ns=225, cluster=2, parts=EQUAL),
    "across_144x128": Tile(144, 128, stages=5, step_ns=348, parts=2, across=True),
    "across_112x128": Tile(112, 128, stages=6, step_ns=258, parts=2, across=True),
    "across_96x128": Tile(96, 128, stages=6, step_ns=231, parts=2, across=True),
    "across_80x128": Tile(80, 128, stages=7, step_ns=207, parts=2, across=True),
    "across_64x128": Tile(64, 128, stages=8, step_ns=175, parts=2, across=True),
    "across_128x64": Tile(128, 64, stages=8, step_ns=188, parts=2, across=True),
    "across_96x64": Tile(96, 64, stages=7, step_ns=140, parts=2, across=True),
    "across_32x64": Tile(32, 64, stages=8, step_ns=106, parts=2, across=True),
    "across_16x64": Tile(16, 64, stages=9, step_ns=116, parts=2, across=True),
    "across_64x128_quarters": Tile(64, 128, stages=8, step_ns=175, parts=4, across=True),
    "across_64x64_quarters": Tile(64, 64, stages=6, step_ns=110, parts=4, across=True),
    "across_64x64_eighths": Tile(64, 64, stages=6, step_ns=110, parts=8, across=True),
    "across_32x64_quarters": Tile(32, 64, stages=8, step_ns=106, parts=4, across=True),
}


@functools.lru_cache(maxsize=4096)
def best(
    m: int,
    n: int,
    steps: int,
    multiprocessors: int,
    aligned: tuple[bool, bool] = _ALIGNED,
    *,
    short: bool = False,
) -> tuple[str, Plan]:
    """The tile that takes least time: large ones need fewer bytes a FLOP, small ones fill more units."""
    tiles = TILES | SHORT_TILES if short else TILES
    plans = {name: tile.plan(m, n, steps, multiprocessors, aligned) for name, tile in tiles.items()}
    return min(plans.items(), key=lambda item: item[1].time_ns)
