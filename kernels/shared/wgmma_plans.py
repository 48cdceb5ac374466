"""Which tile of wgmma_matmul.cuh computes a product, and how blocks share its tiles: a model of the time.

Its constants are fitted to 22414 times on H200s, of some 1340 sizes with N(0, 1) in bfloat16 by the best of
their tiles; when each tile starts, and what a row costs that begins amid a line, to 1292 later times of 27
sizes and again to 69 sizes; pairs of 64 x 128 to 88 sizes of their own; stores of odd rows to 28, of tiles
across to 27; what blocks alone get of L2 to five. What all of a size have in common, such as the launch and
the padding of odd rows, is left out.
"""

import functools
import math
from dataclasses import dataclass, replace

from roofscope.kernels.shared.wgmma_refitted import FITTED_RATES, REFITTED, REFITTED_RATES, Rates

ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh
BAND = 64
_MOST_OF_ONE_BAND = 192  # columns across, of which each warpgroup has 64: of more it has twice as many
MOST_OF_A_BOX = 256  # rows, of which TMA copies no more at once
EQUAL, IN_TURN = 0, -1  # of `parts`
_ALIGNED = (True, True)
# Of a warpgroup, beyond what stores of boxes take, where threads store odd rows.
_LOOSE_BYTES_PER_NS = 11
_LOOSE_ACROSS_BYTES_PER_NS = 15
_CROWD = 132  # blocks at most that are at work at once
# Clusters that share tiles are each elsewhere along k. Of A and B larger than this L2 holds no part until all
# have read it, and a whole round shared besides the last one costs so much of a tile's time.
_HELD_BYTES = 2**27
_APART = 0.4
# Tiles of so many steps which pairs of blocks compute in one round on nearly all of the GPU take longer: why
# is not known.
_FULL_STEPS, _NEARLY_FULL = 40, 0.95
# Rows times columns times steps beyond which power limits products: this is the fastest that was timed.
LONG, _LONG_OF_32_BITS = 2 * 10**9, 4 * 10**9
_MUCH = 1.12  # times as long as the fastest the tile for those may take: for less the model is too coarse
_LONG_TILE = "tile_128x256_pair"
_LONG_TILE_OF_32_BITS = "across_256x128_pair"
# Steps, and rows times columns times steps, of the products that REFITTED is of.
_TIMED_STEPS, _TIMED_FROM = 8, 2**21
_STEPS_IN_TURN = 4  # from which on tiles in turn were
# Which kernels of 16 bits alone have: AMID_LINES_KERNELS.
TILES_AMID_LINES = {
    "across_184x128_1x2",
    "across_88x128_2x4",
    "across_216x128_1x2",
    "across_176x128_2x4",
    "across_168x64_2x4",
    "across_96x64_2x4",
    "across_144x64_4x2",
    "across_120x64_2x1",
    "across_112x64_2x4",
    "across_56x64_4x2",
    "across_88x128_4x1",
    "across_104x128_2x1",
    "across_288x128_2x1",
    "across_288x128_1x2",
    "across_136x256_1x2",
    "across_160x256_2x1",
    "across_224x128_1x2",
    "turns_104x192_1x2",
    "turns_104x192_2x1",
    "turns_112x192_2x1",
    "turns_160x128_2x1",
}
# Which no others were timed with, or at one size only, where it was slower than thought.
_TILES_OF_TIMED = {
    "across_144x128_2x2",
    "across_128x128_quarters",
    "across_128x64_2x4",
    "across_96x128_2x4",
    "across_136x128_2x1",
    "across_192x192_2x1",
    *TILES_AMID_LINES,
}

TILES_OF_FEW_ROWS = {"across_16x64_halves", "across_32x64_halves"}  # which wgmma_few_rows.py chooses


@dataclass(frozen=True)
class Plan:
    """Blocks of a grid, tiles that clusters compute one by one, and about the time of the product."""

    blocks: int
    alone: int
    time_ns: float


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, stages of its ring, the time of a step if nothing but products takes time.

    A cluster computes so many tiles ``above`` and ``beside`` each other. Where few tiles are left for a last
    round, each may be shared by ``parts`` blocks, over a part of k each; or, where that is 0, all clusters
    share these tiles equally, wherever in a tile a share begins; or, where that is -1, two warpgroups of a
    block take whole tiles in turn. A tile ``across`` has 64 columns, not rows, for each warpgroup, or twice
    as many. Its kernel starts ``start_ns`` later than the leanest.
    """

    rows: int
    columns: int
    stages: int
    step_ns: int
    start_ns: int = 0
    above: int = 1
    beside: int = 1
    parts: int = 1
    across: bool = False
    rates: Rates = FITTED_RATES

    @property
    def cluster(self) -> int:
        """Blocks of it, each with a tile."""
        return self.above * self.beside

    @property
    def warpgroups(self) -> int:
        """That multiply."""
        if self.parts == IN_TURN:
            return 2
        return (self.columns // self._bands_of_each if self.across else self.rows) // 64

    @property
    def _bands_of_each(self) -> int:
        """Of a warpgroup of a tile across."""
        return 2 if self.across and self.columns > _MOST_OF_ONE_BAND else 1

    @property
    def reads_pairs(self) -> bool:
        """Whether its stores read by twos what belongs to columns; others have it before, or one by one."""
        return not (self.across or self.columns <= 128 or (self.columns == 256 and self.above == 2))

    @property
    def threads(self) -> int:
        return (self.warpgroups + 1) * 128

    @property
    def _bands(self) -> int:
        """Columns of whole bands."""
        return -(-self.columns // BAND) * BAND

    @property
    def _step_bytes(self) -> int:
        return (self.rows + self._bands) * ROW

    @property
    def stores_by_tma_alone(self) -> bool:
        """No room, or no registers, for threads that store rows which are not of whole 16 bytes."""
        return self.parts == IN_TURN or self._bands_of_each > 1

    @property
    def shared_bytes(self) -> int:
        has_little_room = self.warpgroups == 3 or self._bands_of_each > 1 or self.rows > MOST_OF_A_BOX
        boxes = 1 if has_little_room and self.parts != IN_TURN else 2
        stores = boxes * self.warpgroups * 64 * ROW
        return self.stages * (self._step_bytes + 2 * 8) + stores + 2 * 8

    @property
    def c_rows(self) -> int:
        """Of a box of C: those of a warp, or across what divides a block's."""
        if not self.across:
            return 16
        return 8 if self.rows // max(self.parts, 1) % 16 else 16

    def count(self, m: int, n: int) -> int:
        """Tiles of a cluster that cover C."""
        return -(-m // (self.rows * self.above)) * -(-n // (self.columns * self.beside))

    def step_of(self, aligned: tuple[bool, bool], busy: int = 0) -> float:
        """Time of a step where rows of A, and of B, begin on lines of L2, or halves, or else amid these.

        ``busy``: blocks that are at work at once.
        """
        rates = self.rates
        of_a, of_b = self.rows / self.beside, self._bands / self.above

        def lines(amid_of_a: float, amid_of_b: float) -> float:
            return of_a * (1 if aligned[0] else amid_of_a) + of_b * (1 if aligned[1] else amid_of_b)

        lines_ns = rates.line_ns * lines(rates.amid * rates.amid_of_a, rates.amid)
        busy_ns = rates.busy_line_ns * busy * lines(rates.busy_amid, rates.busy_amid)
        multicast_ns = self._step_bytes / rates.multicast_bytes_per_ns if self.cluster > 1 else 0
        return _both(self.step_ns, lines_ns, multicast_ns, busy_ns, power=3)

    def _crowd_ns(self, m: int, n: int) -> float:
        """By how much a step is longer where many blocks want the same lines of B, or of A, at once."""
        above, beside = min(-(-m // self.rows), _CROWD), min(-(-n // self.columns), _CROWD)
        of_b = self.rates.crowd_b_ns * above / self.above * self._bands
        return of_b + self.rates.crowd_a_ns * beside / self.beside * self.rows

    def _end_ns(self, n: int, c_bytes: int) -> float:
        """To store a tile, more where no box can because rows are not of whole 16 bytes."""
        elements = self.rows * self.columns
        ns = self.rates.end_ns + elements * self.rates.element_ns
        if n * c_bytes % 16:
            rate = _LOOSE_ACROSS_BYTES_PER_NS if self.across else _LOOSE_BYTES_PER_NS
            ns += elements * c_bytes / (rate * self.warpgroups)
        return ns

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
        if not most or (self.stores_by_tma_alone and n * c_bytes % 16):
            return []
        units, count = most // self.cluster, self.count(m, n)
        whole, rest = divmod(count, units)
        covered = count * self.cluster * self.rows * self.columns

        def step_of(busy: int) -> float:
            step_ns = self.step_of(aligned, busy) * (covered / max(m * n, 1)) ** self.rates.beyond
            return step_ns + self._crowd_ns(m, n)

        # Several rounds, and those that share, keep more blocks at work than tiles alone in one.
        step_ns = step_of(most if whole else count * self.cluster)
        end_ns = self._end_ns(n, c_bytes)
        tile_ns = steps * step_ns + end_ns
        of_a = m * steps * ROW * (1 if n <= self.columns * self.beside else self.rates.far)
        of_b = n * steps * ROW * (1 if m <= self.rows * self.above else self.rates.far)
        of_b *= 1 if aligned[1] else 1 + self.rates.vain_bytes / (2 * self.columns * self.beside)
        dram_ns = (of_a + of_b + c_bytes * m * n) / self.rates.dram_bytes_per_ns
        elements = self.rows * self.columns
        copy_ns = self._step_bytes / self.rates.alone_bytes_per_ns if self.cluster == 1 else 0

        def plan(blocks: int, alone: int, steps_ns: float, most_steps: int, meet_ns: float = 0) -> Plan:
            steps_ns = max(steps_ns, most_steps * copy_ns)
            return Plan(blocks, alone, _both(steps_ns, dram_ns, power=2) + self.start_ns + meet_ns)

        blocks, rounds = min(-(-count * self.cluster // together) * together, most), whole + bool(rest)
        fills = self.cluster == 2 and steps >= _FULL_STEPS and _NEARLY_FULL * units < count <= units
        all_ns = rounds * tile_ns * (self.rates.full if fills else 1)
        if self.parts == IN_TURN:  # a tile is stored while the next one is computed
            all_ns = max(rounds * steps * step_ns + end_ns, rounds * end_ns / 2)
        plans = [plan(blocks, count, all_ns, rounds * steps)]
        if self.parts > 1 and 0 < rest * self.parts <= units:
            shared = -(-steps // self.parts)
            grid = most if whole else rest * self.parts
            shared_ns = whole * tile_ns + shared * step_of(grid) + end_ns
            meet_ns = self.rates.meet * (21 + 6 * math.log2(self.parts) + elements / 11.7)
            plans.append(plan(grid, count - rest, shared_ns, whole * steps + shared, meet_ns))
        elif (
            self.parts == EQUAL and rest * steps > 0 and (rest + units) * steps < 2**31
        ):  # which 32 bits count
            # A tile's parts meet in memory, where one block adds them one by one.
            step_ns = step_of(most)
            shared = -(-rest * steps // units)
            shared_ns = whole * tile_ns + shared * step_ns + end_ns
            meet_ns = self.rates.meet * (56 + 1107 * -(-units // rest) + elements / 34.6)
            meet_ns += shared * self.rates.shared_step_ns
            plans.append(plan(most, count - rest, shared_ns, whole * steps + shared, meet_ns))
            # With a whole round more to share, a tile has two or three parts, most of them there in time.
            if whole:
                shared = -(-(rest + units) * steps // units)
                shared_ns = (whole - 1) * tile_ns + shared * step_ns + 2 * end_ns
                meet_ns = self.rates.meet * (213 + elements / 112.1) + shared * self.rates.shared_step_ns
                meet_ns += _APART * tile_ns if (m + n) * steps * ROW > _HELD_BYTES else 0
                most_steps = (whole - 1) * steps + shared
                plans.append(plan(most, count - rest - units, shared_ns, most_steps, meet_ns))
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
    "tile_128x256_pair": Tile(128, 256, stages=4, step_ns=577, start_ns=580, above=2, parts=EQUAL),
    "tile_128x224_pair": Tile(128, 224, stages=4, step_ns=524, start_ns=490, above=2, parts=EQUAL),
    "tile_128x256": Tile(128, 256, stages=4, step_ns=584, start_ns=380, parts=2),
    "tile_128x192": Tile(128, 192, stages=4, step_ns=429, start_ns=450, parts=2),
    "tile_128x128": Tile(128, 128, stages=6, step_ns=314, start_ns=90, parts=2),
    "tile_64x128": Tile(64, 128, stages=8, step_ns=170, start_ns=310, parts=2),
    "tile_64x64": Tile(64, 64, stages=8, step_ns=121, start_ns=80),
    "across_256x128_pair": Tile(
        256, 128, stages=4, step_ns=580, start_ns=890, beside=2, parts=EQUAL, across=True
    ),
    "across_208x128_pair": Tile(
        208, 128, stages=4, step_ns=464, start_ns=730, beside=2, parts=EQUAL, across=True
    ),
    "across_144x128_pair": Tile(
        144, 128, stages=5, step_ns=315, start_ns=740, beside=2, parts=EQUAL, across=True
    ),
    "across_192x192_pair": Tile(192, 192, stages=4, step_ns=614, start_ns=880, beside=2, across=True),
    "across_176x192_above": Tile(176, 192, stages=4, step_ns=603, start_ns=1130, above=2, across=True),
    "across_96x192_above": Tile(96, 192, stages=5, step_ns=341, start_ns=30, above=2, across=True),
    "across_64x128_quarters": Tile(64, 128, stages=8, step_ns=184, start_ns=440, parts=4, across=True),
    "across_64x64_quarters": Tile(64, 64, stages=12, step_ns=150, start_ns=310, parts=4, across=True),
    "across_64x64_eighths": Tile(64, 64, stages=12, step_ns=135, start_ns=420, parts=8, across=True),
    "across_32x64_quarters": Tile(32, 64, stages=16, step_ns=130, start_ns=240, parts=4, across=True),
    "across_160x128_2x2": Tile(160, 128, stages=5, step_ns=330, start_ns=620, above=2, beside=2, across=True),
    "across_112x128_2x2": Tile(
        112, 128, stages=6, step_ns=225, start_ns=430, above=2, beside=2, parts=EQUAL, across=True
    ),
    "across_112x128_4x2": Tile(112, 128, stages=6, step_ns=234, start_ns=490, above=4, beside=2, across=True),
    "across_96x128_4x2": Tile(96, 128, stages=6, step_ns=219, start_ns=540, above=4, beside=2, across=True),
    "across_80x128_2x2": Tile(80, 128, stages=7, step_ns=180, start_ns=680, above=2, beside=2, across=True),
    "across_64x64_4x2": Tile(64, 64, stages=9, step_ns=133, start_ns=180, above=4, beside=2, across=True),
    "across_32x64_4x2": Tile(32, 64, stages=9, step_ns=133, start_ns=0, above=4, beside=2, across=True),
    "across_96x64_quarters": Tile(96, 64, stages=8, step_ns=148, start_ns=520, parts=4, across=True),
    "across_80x64": Tile(80, 64, stages=9, step_ns=156, start_ns=510, parts=2, across=True),
    "across_48x64": Tile(48, 64, stages=9, step_ns=123, start_ns=420, parts=2, across=True),
    "tile_128x160_2x1": Tile(128, 160, stages=4, step_ns=383, start_ns=660, above=2, parts=EQUAL),
    "tile_64x128_8x1": Tile(64, 128, stages=8, step_ns=162, start_ns=240, above=8),
    "tile_128x128_4x1": Tile(128, 128, stages=6, step_ns=243, start_ns=100, above=4),
    "tile_128x128_4x2": Tile(128, 128, stages=6, step_ns=240, start_ns=270, above=4, beside=2),
    "tile_128x192_2x1": Tile(128, 192, stages=4, step_ns=412, start_ns=840, above=2, parts=EQUAL),
    "tile_128x256_4x1": Tile(128, 256, stages=4, step_ns=514, start_ns=610, above=4),
    "across_112x192_2x1": Tile(112, 192, stages=5, step_ns=358, start_ns=330, above=2, across=True),
    "across_128x192_2x1": Tile(128, 192, stages=5, step_ns=418, start_ns=450, above=2, across=True),
    "across_144x192_2x1": Tile(144, 192, stages=4, step_ns=472, start_ns=570, above=2, across=True),
    "across_160x192_2x1": Tile(160, 192, stages=4, step_ns=533, start_ns=390, above=2, across=True),
    "across_96x128_quarters": Tile(96, 128, stages=6, step_ns=231, start_ns=410, parts=4, across=True),
    "across_80x128_4x1": Tile(80, 128, stages=7, step_ns=192, start_ns=410, above=4, across=True),
    "across_112x128_4x1": Tile(112, 128, stages=6, step_ns=236, start_ns=300, above=4, across=True),
    "across_80x128_2x1": Tile(80, 128, stages=7, step_ns=193, start_ns=540, above=2, across=True),
    "across_176x128_2x1": Tile(176, 128, stages=5, step_ns=412, start_ns=670, above=2, across=True),
    "across_208x128_2x1": Tile(208, 128, stages=4, step_ns=487, start_ns=710, above=2, across=True),
    "across_160x128_1x4": Tile(160, 128, stages=5, step_ns=328, start_ns=710, beside=4, across=True),
    "across_64x64_4x1": Tile(64, 64, stages=9, step_ns=117, start_ns=240, above=4, across=True),
    "across_96x64_4x1": Tile(96, 64, stages=9, step_ns=145, start_ns=260, above=4, across=True),
    "across_96x64_1x4": Tile(96, 64, stages=9, step_ns=113, start_ns=450, beside=4, across=True),
    "across_64x64_1x8": Tile(64, 64, stages=9, step_ns=125, start_ns=70, beside=8, across=True),
    "across_128x64_1x8": Tile(128, 64, stages=8, step_ns=133, start_ns=510, beside=8, across=True),
    "across_80x64_2x2": Tile(80, 64, stages=9, step_ns=131, start_ns=450, above=2, beside=2, across=True),
    "across_48x64_4x2": Tile(48, 64, stages=9, step_ns=137, start_ns=80, above=4, beside=2, across=True),
    "across_32x64_4x1": Tile(32, 64, stages=9, step_ns=119, start_ns=50, above=4, across=True),
    "across_208x128_2x2": Tile(208, 128, stages=4, step_ns=448, start_ns=640, above=2, beside=2, across=True),
    "across_16x64_4x1": Tile(16, 64, stages=9, step_ns=130, start_ns=10, above=4, across=True),
    "across_64x128_eighths": Tile(64, 128, stages=8, step_ns=184, start_ns=560, parts=8, across=True),
    "across_128x64_eighths": Tile(128, 64, stages=8, step_ns=147, start_ns=680, parts=8, across=True),
    "across_48x64_8x1": Tile(48, 64, stages=9, step_ns=152, start_ns=0, above=8, across=True),
    "tile_64x128_1x1": Tile(64, 128, stages=8, step_ns=157, start_ns=180),
    "tile_64x128_2x1": Tile(64, 128, stages=8, step_ns=115, start_ns=0, above=2),
    "tile_64x192_1x1": Tile(64, 192, stages=6, step_ns=213, start_ns=340),
    "tile_128x128_2x1": Tile(128, 128, stages=6, step_ns=258, start_ns=70, above=2),
    "across_64x64_halves": Tile(64, 64, stages=8, step_ns=132, start_ns=370, parts=2, across=True),
    "across_128x64_halves": Tile(128, 64, stages=8, step_ns=184, start_ns=250, parts=2, across=True),
    "across_184x128_1x2": Tile(184, 128, stages=4, step_ns=358, start_ns=850, beside=2, across=True),
    "across_88x128_2x4": Tile(
        88, 128, stages=7, step_ns=174, start_ns=680, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_216x128_1x2": Tile(216, 128, stages=4, step_ns=440, start_ns=840, beside=2, across=True),
    "across_176x128_2x4": Tile(
        176, 128, stages=5, step_ns=357, start_ns=840, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_168x64_2x4": Tile(
        168, 64, stages=7, step_ns=180, start_ns=990, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_96x64_2x4": Tile(
        96, 64, stages=10, step_ns=121, start_ns=1070, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_144x64_4x2": Tile(
        144, 64, stages=8, step_ns=150, start_ns=800, above=4, beside=2, parts=EQUAL, across=True
    ),
    "across_120x64_2x1": Tile(
        120, 64, stages=9, step_ns=140, start_ns=850, above=2, parts=EQUAL, across=True
    ),
    "across_112x64_2x4": Tile(
        112, 64, stages=9, step_ns=129, start_ns=950, above=2, beside=4, parts=EQUAL, across=True
    ),
    "across_56x64_4x2": Tile(
        56, 64, stages=10, step_ns=105, start_ns=1040, above=4, beside=2, parts=EQUAL, across=True
    ),
    "across_88x128_4x1": Tile(
        88, 128, stages=7, step_ns=179, start_ns=700, above=4, parts=EQUAL, across=True
    ),
    "across_104x128_2x1": Tile(
        104, 128, stages=6, step_ns=227, start_ns=880, above=2, parts=EQUAL, across=True
    ),
    "across_288x128_2x1": Tile(
        288, 128, stages=4, step_ns=648, start_ns=920, above=2, parts=EQUAL, across=True
    ),
    "across_288x128_1x2": Tile(
        288, 128, stages=4, step_ns=660, start_ns=870, beside=2, parts=EQUAL, across=True
    ),
    "across_136x256_1x2": Tile(136, 256, stages=4, step_ns=524, start_ns=1050, beside=2, across=True),
    "across_160x256_2x1": Tile(
        160, 256, stages=4, step_ns=694, start_ns=2550, above=2, parts=EQUAL, across=True
    ),
    "across_224x128_1x2": Tile(
        224, 128, stages=4, step_ns=468, start_ns=750, beside=2, parts=EQUAL, across=True
    ),
    "turns_104x192_1x2": Tile(
        104, 192, stages=5, step_ns=388, start_ns=900, beside=2, parts=IN_TURN, across=True
    ),
    "turns_104x192_2x1": Tile(
        104, 192, stages=5, step_ns=313, start_ns=1050, above=2, parts=IN_TURN, across=True
    ),
    "turns_112x192_2x1": Tile(
        112, 192, stages=5, step_ns=330, start_ns=1050, above=2, parts=IN_TURN, across=True
    ),
    "turns_160x128_2x1": Tile(
        160, 128, stages=5, step_ns=346, start_ns=900, above=2, parts=IN_TURN, across=True
    ),
    "across_192x128_1x4": Tile(192, 128, stages=4, step_ns=395, start_ns=710, beside=4, across=True),
    "across_144x128_2x2": Tile(144, 128, stages=5, step_ns=317, start_ns=450, above=2, beside=2, across=True),
    "across_192x128_2x2": Tile(192, 128, stages=4, step_ns=413, start_ns=640, above=2, beside=2, across=True),
    "across_192x128_halves": Tile(192, 128, stages=4, step_ns=444, start_ns=450, parts=2, across=True),
    "across_128x128_quarters": Tile(128, 128, stages=6, step_ns=293, start_ns=460, parts=4, across=True),
    "across_128x64_2x4": Tile(128, 64, stages=8, step_ns=124, start_ns=1100, above=2, beside=4, across=True),
    "across_96x128_2x4": Tile(96, 128, stages=6, step_ns=196, start_ns=0, above=2, beside=4, across=True),
    "across_136x128_2x1": Tile(136, 128, stages=5, step_ns=334, start_ns=0, above=2, across=True),
    "across_192x192_2x1": Tile(192, 192, stages=4, step_ns=496, start_ns=0, above=2, across=True),
    "across_16x64_halves": Tile(16, 64, stages=8, step_ns=101, start_ns=410, parts=2, across=True),
    "across_32x64_halves": Tile(32, 64, stages=7, step_ns=123, start_ns=390, parts=2, across=True),
}


@functools.cache
def _refitted() -> dict[str, Tile]:
    """The tiles with what was fitted to products of 16 bits of whole rows."""
    return {
        name: replace(TILES[name], step_ns=step_ns, start_ns=start_ns, rates=REFITTED_RATES)
        for name, (step_ns, start_ns) in REFITTED.items()
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
    amid_lines: bool = False,
) -> tuple[str, Plan]:
    """The tile and plan of least time: large ones need fewer bytes a FLOP, small ones fill more units.

    ``amid_lines``: of 16 bits, A and B too, whose rows do not all begin on lines. Of such, sizes like those
    timed since have times of their own.
    """
    sizes = (m, n, steps, multiprocessors, aligned, clustered, c_bytes)
    is_like_timed = amid_lines and n * c_bytes % 16 == 0 and _TIMED_FROM <= m * n * steps <= LONG
    is_timed = is_like_timed and steps >= _TIMED_STEPS
    tiles = _refitted() if is_timed else TILES

    def best_of(*names: str, tiles: dict[str, Tile] = tiles) -> tuple[str, Plan]:
        plans = [(name, plan) for name in names for plan in tiles[name].plans(*sizes)]
        return min(plans, key=lambda item: item[1].time_ns)

    if is_like_timed and _STEPS_IN_TURN <= steps < _TIMED_STEPS:
        # Only which tiles gain by being stored meanwhile is known of these.
        in_turn = best_of(*_refitted(), tiles=_refitted())
        if TILES[in_turn[0]].parts == IN_TURN:
            return in_turn

    left_out = {_LONG_TILE_OF_32_BITS} | TILES_OF_FEW_ROWS | (set[str]() if is_timed else _TILES_OF_TIMED)
    fastest = best_of(*(name for name in tiles if name not in left_out))
    if m * n * steps > (_LONG_OF_32_BITS if c_bytes == 4 else LONG):
        long = best_of(_LONG_TILE_OF_32_BITS if c_bytes == 4 else _LONG_TILE)
        return long if long[1].time_ns <= _MUCH * fastest[1].time_ns else fastest
    return fastest
