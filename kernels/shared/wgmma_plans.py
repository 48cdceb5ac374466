"""Which tile of wgmma_matmul.cuh computes a product, and how blocks share its tiles: a model of the time.

Its constants are fitted to 6132 times on H200s, of some 400 sizes with N(0, 1) in bfloat16 by the best of
their tiles. What all of a size have in common, such as the launch and the padding of odd rows, is left out.
"""

import functools
from dataclasses import dataclass

ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh
BAND = 64
EQUAL = 0  # of `parts`
_ALIGNED = (True, True)
_LINE_NS = 0.93  # of a line of L2 that a block copies
_AMID = 2.0  # lines of a row that begins amid one
_MULTICAST_BYTES_PER_NS = 210  # into a multiprocessor
_DRAM_BYTES_PER_NS = 4500
_FAR = 1.6  # times as long it takes to bring what several clusters read: L2 has two halves
# Blocks that share tiles are each elsewhere along k. Of A and B larger than this L2 holds no part until all
# have read it, and a whole round shared besides the last one costs so much of a tile's time.
_HELD_BYTES = 2**27
_APART = 0.4
# Of a kernel by the blocks of its clusters, and whether it has several warpgroups that multiply.
_START_NS = {
    (1, False): 210,
    (1, True): 400,
    (2, False): 600,
    (2, True): 740,
    (4, False): 500,
    (4, True): 610,
    (8, False): 160,
    (8, True): 540,
}


@dataclass(frozen=True)
class Plan:
    """Blocks of a grid, tiles that clusters compute one by one, and about the time of the product."""

    blocks: int
    alone: int
    time_ns: float


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, stages of its ring, and the time of a step if nothing but products takes time.

    A cluster computes so many tiles ``above`` and ``beside`` each other. Where few tiles are left for a last
    round, each may be shared by ``parts`` blocks, over a part of k each; or, where that is 0, all clusters
    share these tiles equally, wherever in a tile a share begins. A tile ``across`` has 64 columns, not rows,
    for each warpgroup.
    """

    rows: int
    columns: int
    stages: int
    step_ns: int
    above: int = 1
    beside: int = 1
    parts: int = 1
    across: bool = False

    @property
    def cluster(self) -> int:
        """Blocks of it, each with a tile."""
        return self.above * self.beside

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
        return -(-m // (self.rows * self.above)) * -(-n // (self.columns * self.beside))

    def step_of(self, aligned: tuple[bool, bool]) -> float:
        """Time of a step where rows of A, and of B, begin on lines of L2, or else lie in two of them each."""
        of_a, of_b = self.rows / self.beside, -(-self.columns // BAND) * BAND / self.above
        lines_ns = _LINE_NS * (of_a * (1 if aligned[0] else _AMID) + of_b * (1 if aligned[1] else _AMID))
        multicast_ns = self._step_bytes / _MULTICAST_BYTES_PER_NS if self.cluster > 1 else 0
        return _both(self.step_ns, lines_ns, multicast_ns, power=3)

    def _end_ns(self, n: int, c_bytes: int) -> float:
        """To store a tile, more where threads do it because rows are not of whole 16 bytes."""
        elements = self.rows * self.columns
        ns = 280 + elements / 17
        if n * c_bytes % 16:
            by_a_warpgroup = 2.5 if self.columns % BAND == 0 else 1  # of boxes of half the width
            ns += elements / (by_a_warpgroup * self.warpgroups)
        return ns

    @property
    def _start_ns(self) -> int:
        """By how much it is later than the leanest kernel's."""
        return 0 if self.parts == self.cluster == 1 else _START_NS[self.cluster, self.warpgroups > 1]

    def plans(
        self,
        m: int,
        n: int,
        steps: int,
        multiprocessors: int,
        aligned: tuple[bool, bool] = _ALIGNED,
        clustered: tuple[int, int] | None = None,
        c_bytes: int = 2,
    ) -> list[Plan]:
        """With every tile computed by one cluster; and with those of the last round shared, if that can be.

        None where the GPU has no room for its clusters. What the times of all tiles have in common, the start
        of a kernel, is not counted. ``clustered``: multiprocessors in clusters of four, and of eight;
        ``c_bytes``: of an element of C.
        """
        together = self.cluster * max(self.parts, 1)
        most = most_blocks(together, multiprocessors, clustered)
        if not most:
            return []
        units, count = most // self.cluster, self.count(m, n)
        whole, rest = divmod(count, units)
        step_ns = self.step_of(aligned)
        end_ns = self._end_ns(n, c_bytes)
        tile_ns = steps * step_ns + end_ns
        of_a = m * steps * ROW * (1 if n <= self.columns * self.beside else _FAR)
        of_b = n * steps * ROW * (1 if m <= self.rows * self.above else _FAR)
        dram_ns = (of_a + of_b + c_bytes * m * n) / _DRAM_BYTES_PER_NS
        elements = self.rows * self.columns

        def plan(blocks: int, alone: int, steps_ns: float, meet_ns: float = 0) -> Plan:
            return Plan(blocks, alone, _both(steps_ns, dram_ns, power=2) + self._start_ns + meet_ns)

        blocks = min(-(-count * self.cluster // together) * together, most)
        plans = [plan(blocks, count, (whole + bool(rest)) * tile_ns)]
        if self.parts > 1 and 0 < rest * self.parts <= units:
            shared_ns = whole * tile_ns + -(-steps // self.parts) * step_ns + end_ns
            grid = most if whole else rest * self.parts
            plans.append(plan(grid, count - rest, shared_ns, 50 + elements / 12.4))
        elif (
            self.parts == EQUAL and rest * steps > 0 and (rest + units) * steps < 2**31
        ):  # which 32 bits count
            # A tile's parts meet in memory, where one block adds them one by one.
            shared_ns = whole * tile_ns + -(-rest * steps // units) * step_ns + end_ns
            plans.append(plan(most, count - rest, shared_ns, 1200 + 640 * -(-units // rest) + elements / 7.4))
            # With a whole round more to share, a tile has two or three parts, most of them there in time.
            if whole:
                shared_ns = (whole - 1) * tile_ns + -(-(rest + units) * steps // units) * step_ns + 2 * end_ns
                apart_ns = _APART * tile_ns if (m + n) * steps * ROW > _HELD_BYTES else 0
                meet_ns = 2500 + elements / 11.5 + apart_ns
                plans.append(plan(most, count - rest - units, shared_ns, meet_ns))
        return plans

    def plan(self, m: int, n: int, steps: int, multiprocessors: int) -> Plan:
        """The one of least time."""
        return min(self.plans(m, n, steps, multiprocessors), key=lambda plan: plan.time_ns)


def most_blocks(together: int, multiprocessors: int, clustered: tuple[int, int] | None = None) -> int:
    """At work at once, one a multiprocessor, in clusters of so many: some have no room in larger clusters.

    Where nobody has asked the GPU, an H200's 120 of 132 count.
    """
    if together > 2:
        multiprocessors = clustered[together > 4] if clustered else multiprocessors * 10 // 11
    return multiprocessors // together * together


def _both(*times: float, power: int) -> float:
    """The time of things beside each other, of which the longest one hides most of the others."""
    return sum(time**power for time in times) ** (1 / power)


TILES = {
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=586, above=2, parts=EQUAL),
    "tile_128x224_pair": Tile(128, 224, stages=4, step_ns=564, above=2, parts=EQUAL),
    "tile_128x256": Tile(128, 256, stages=4, step_ns=575, parts=2),
    "tile_128x192": Tile(128, 192, stages=4, step_ns=425, parts=2),
    "tile_128x128": Tile(128, 128, stages=6, step_ns=258, parts=2),
    "tile_64x128": Tile(64, 128, stages=8, step_ns=120, parts=2),
    "tile_64x64_halves": Tile(64, 64, stages=8, step_ns=143, parts=2),
    "tile_64x64": Tile(64, 64, stages=8, step_ns=116),
    "across_208x128_pair": Tile(208, 128, stages=4, step_ns=474, beside=2, parts=EQUAL, across=True),
    "across_192x128_pair": Tile(192, 128, stages=4, step_ns=475, beside=2, parts=EQUAL, across=True),
    "across_160x128_pair": Tile(160, 128, stages=5, step_ns=399, beside=2, parts=EQUAL, across=True),
    "across_144x128_pair": Tile(144, 128, stages=5, step_ns=326, beside=2, parts=EQUAL, across=True),
    "across_192x192_pair": Tile(192, 192, stages=4, step_ns=640, beside=2, across=True),
    "across_176x192_above": Tile(176, 192, stages=4, step_ns=599, above=2, across=True),
    "across_96x192_above": Tile(96, 192, stages=5, step_ns=368, above=2, across=True),
    "tile_64x128_above": Tile(64, 128, stages=8, step_ns=192, above=2, parts=EQUAL),
    "across_144x128": Tile(144, 128, stages=5, step_ns=333, parts=2, across=True),
    "across_112x128": Tile(112, 128, stages=6, step_ns=254, parts=2, across=True),
    "across_96x128": Tile(96, 128, stages=6, step_ns=207, parts=2, across=True),
    "across_80x128": Tile(80, 128, stages=7, step_ns=194, parts=2, across=True),
    "across_64x128": Tile(64, 128, stages=8, step_ns=143, parts=2, across=True),
    "across_128x64": Tile(128, 64, stages=8, step_ns=184, parts=2, across=True),
    "across_96x64": Tile(96, 64, stages=7, step_ns=172, parts=2, across=True),
    "across_32x64": Tile(32, 64, stages=8, step_ns=123, parts=2, across=True),
    "across_16x64": Tile(16, 64, stages=9, step_ns=131, parts=2, across=True),
    "across_64x128_quarters": Tile(64, 128, stages=8, step_ns=160, parts=4, across=True),
    "across_64x64_quarters": Tile(64, 64, stages=6, step_ns=148, parts=4, across=True),
    "across_64x64_eighths": Tile(64, 64, stages=6, step_ns=178, parts=8, across=True),
    "across_32x64_quarters": Tile(32, 64, stages=8, step_ns=129, parts=4, across=True),
    "across_176x128_2x2": Tile(176, 128, stages=5, step_ns=402, above=2, beside=2, across=True),
    "across_160x128_2x2": Tile(160, 128, stages=5, step_ns=353, above=2, beside=2, across=True),
    "across_112x128_2x2": Tile(112, 128, stages=6, step_ns=243, above=2, beside=2, across=True),
    "across_112x128_4x2": Tile(112, 128, stages=6, step_ns=255, above=4, beside=2, across=True),
    "across_96x128_4x2": Tile(96, 128, stages=6, step_ns=217, above=4, beside=2, across=True),
    "across_80x128_2x2": Tile(80, 128, stages=7, step_ns=195, above=2, beside=2, across=True),
    "across_64x128_2x4": Tile(64, 128, stages=8, step_ns=189, above=2, beside=4, across=True),
    "across_112x64_2x2": Tile(112, 64, stages=8, step_ns=163, above=2, beside=2, across=True),
    "across_96x64_2x4": Tile(96, 64, stages=9, step_ns=200, above=2, beside=4, across=True),
    "across_64x64_4x2": Tile(64, 64, stages=9, step_ns=141, above=4, beside=2, across=True),
    "across_32x64_4x2": Tile(32, 64, stages=9, step_ns=116, above=4, beside=2, across=True),
    "tile_128x192_4x2": Tile(128, 192, stages=4, step_ns=425, above=4, beside=2),
    "tile_128x128_2x2": Tile(128, 128, stages=6, step_ns=274, above=2, beside=2),
    "across_96x64_quarters": Tile(96, 64, stages=8, step_ns=162, parts=4, across=True),
    "across_80x64": Tile(80, 64, stages=9, step_ns=175, parts=2, across=True),
    "across_48x64": Tile(48, 64, stages=9, step_ns=119, parts=2, across=True),
}


@functools.lru_cache(maxsize=4096)
def best(
    m: int,
    n: int,
    steps: int,
    multiprocessors: int,
    aligned: tuple[bool, bool] = _ALIGNED,
    clustered: tuple[int, int] | None = None,
    c_bytes: int = 2,
) -> tuple[str, Plan]:
    """The tile and plan of least time: large ones need fewer bytes a FLOP, small ones fill more units."""
    sizes = (m, n, steps, multiprocessors, aligned, clustered, c_bytes)
    plans = [(name, plan) for name, tile in TILES.items() for plan in tile.plans(*sizes)]
    return min(plans, key=lambda item: item[1].time_ns)
