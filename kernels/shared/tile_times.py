"""A tile of wgmma_matmul.cuh, the ways in which blocks compute a product by it, and a model of the time.

Its constants are fitted to 22414 times on H200s, of some 1340 sizes with N(0, 1) in bfloat16 by the best of
their tiles; when each tile starts, and what a row costs that begins amid a line, to 1292 later times of 27
sizes and again to 69 sizes; pairs of 64 x 128 to 88 sizes of their own; stores of odd rows to 28, of tiles
across to 27; what blocks alone get of L2 to five. What all of a size have in common, such as the launch and
the padding of odd rows, is left out.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from roofscope.kernels.shared.wgmma_refitted import FITTED_RATES, Rates

ROW = 128  # bytes of k in a stage, as in wgmma_matmul.cuh
BAND = 64
_MOST_OF_ONE_BAND = 192  # columns across, of which each warpgroup has 64: of more it has twice as many
MOST_OF_A_BOX = 256  # rows, of which TMA copies no more at once
EQUAL, IN_TURN = 0, -1  # of `parts`
ALIGNED = (True, True)  # rows of A, and of B, begin on lines of L2, or halves
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
        aligned: tuple[bool, bool] = ALIGNED,
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


def fastest(tiles: Iterable[tuple[str, Tile]], *sizes: Any) -> tuple[str, Plan]:
    """The tile by its name, and the plan, of least time. ``sizes`` are those of ``Tile.plans``."""
    plans = [(name, plan) for name, tile in tiles for plan in tile.plans(*sizes)]
    return min(plans, key=lambda item: item[1].time_ns)


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
