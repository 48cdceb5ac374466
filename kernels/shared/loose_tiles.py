"""Launches short_sums.cuh and long_sums.cuh: tiles of products in 16 bits from rows that begin anywhere."""

import functools
import math
from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram
from roofscope.kernels.shared.tile_shares import new_ticket

_UNIT = 8  # elements in 16 bytes
_LOADS = 4  # of a thread, under way at once, as in short_sums.cuh
_MOST_SHARED = 112 * 1024  # of a block, so that a multiprocessor has two
_MOST_SHORT = 256  # of k
_MOST_ACROSS = 2**16 - 1  # blocks beside each other
# Of all short tiles, in ns.
_SLICE_NS = 17  # 16 of k
_WRITTEN_BYTES_PER_NS = 2032
_LEAST_NS = 1500  # that nothing hides
# Of long sums: as long_sums.cuh says. The largest clusters alone share a tile with others.
LONG_CLUSTERS = (4, 8, 16)
_LONG_STEP = 64  # of k
_LONG_THREADS = 256
_LONG_STAGES = 4
_LONG_NS, _LONG_STEP_NS = 3230, 1000  # to start, and of each step of a block
# The same of blocks beyond one a multiprocessor, as many again.
_LONG_BLOCKS_NS, _LONG_BLOCKS_STEP_NS = 2080, 710
_LONG_MEET_NS, _LONG_SHARE_NS = 1080, 610  # of clusters that share a tile, and of each of them
_MOST_LONG_STEPS = 6  # of a block: beyond that the copy and tiles are faster
_MOST_SHARES = 4


@dataclass(frozen=True)
class LooseTile:
    """What both have in common: rows and columns of C."""

    rows: int
    columns: int

    def count(self, m: int, n: int) -> int:
        return -(-m // self.rows) * self.across(n)

    def across(self, n: int) -> int:
        """Tiles beside each other. They overlap by a word of 16 bytes where rows of C begin amid one."""
        overlap = _UNIT if n % _UNIT else 0
        return 1 if n <= self.columns else -(-(n - overlap) // (self.columns - overlap))


@dataclass(frozen=True)
class ShortTile(LooseTile):
    """A kernel of short_sums.cuh, and about its times, fitted to 165 sizes with k up to 200 on an H200.

    When it starts was fitted to 60 sizes again. The first tile takes ``start_ns``, and ``loads_ns`` for each
    time once more that threads have all their loads under way; each tile of a multiprocessor ``tile_ns``,
    ``slice_ns`` for each 16 of k, and ``odd_ns`` where n is odd. Where blocks take ``turns``, each keeps its
    columns of B for all its tiles.
    """

    threads: int
    start_ns: int
    tile_ns: int
    slice_ns: int
    odd_ns: int
    loads_ns: int = 790
    turns: bool = False

    def shared_bytes(self, k: int) -> int:
        slices, row_bytes = -(-k // 16), self.columns * 2 + 16
        return slices * 16 * row_bytes + self.rows * max(slices * 32 + 16, row_bytes)

    def fits(self, m: int, n: int, k: int, multiprocessors: int) -> bool:
        most = k <= _MOST_SHORT and self.shared_bytes(k) <= _MOST_SHARED and self.across(n) <= _MOST_ACROSS
        return most and not (self.turns and self.blocks(m, n, k, multiprocessors) == -(-m // self.rows))

    def blocks(self, m: int, n: int, k: int, multiprocessors: int) -> int:
        """That share the rows."""
        tiles = -(-m // self.rows)
        together = min(3, 225_000 // (self.shared_bytes(k) + 1024))  # of a multiprocessor
        return min(tiles, max(together * multiprocessors // self.across(n), 1)) if self.turns else tiles

    def time_ns(self, m: int, n: int, k: int, multiprocessors: int) -> float:
        slices, rounds = -(-k // 16), self.count(m, n) / multiprocessors
        loads = -(-2 * slices * (self.rows + self.columns) // (self.threads * _LOADS))
        first_ns = self.start_ns + slices * _SLICE_NS + (loads - 1) * self.loads_ns - _LEAST_NS
        all_ns = self.tile_ns + slices * self.slice_ns + n % 2 * self.odd_ns
        all_ns *= math.ceil(rounds) if rounds < 8 else rounds + 0.5
        return _LEAST_NS + math.hypot(first_ns, all_ns, 2 * m * n / _WRITTEN_BYTES_PER_NS)


SHORT_TILES = {
    "32x64": ShortTile(32, 64, threads=128, start_ns=2900, tile_ns=275, slice_ns=154, odd_ns=79),
    "32x64_wide": ShortTile(
        32, 64, threads=256, start_ns=2800, tile_ns=481, slice_ns=169, odd_ns=181, loads_ns=650
    ),
    "64x32": ShortTile(64, 32, threads=128, start_ns=2930, tile_ns=282, slice_ns=161, odd_ns=75),
    "64x64": ShortTile(64, 64, threads=128, start_ns=3500, tile_ns=201, slice_ns=242, odd_ns=102),
    "64x64_wide": ShortTile(
        64, 64, threads=256, start_ns=2505, tile_ns=657, slice_ns=212, odd_ns=275, loads_ns=1306
    ),
    "64x128": ShortTile(64, 128, threads=256, start_ns=3700, tile_ns=677, slice_ns=341, odd_ns=153),
    "128x128": ShortTile(128, 128, threads=256, start_ns=4300, tile_ns=762, slice_ns=533, odd_ns=191),
    "64x256": ShortTile(64, 256, threads=256, start_ns=3448, tile_ns=1017, slice_ns=584, odd_ns=211),
    "64x256_turns": ShortTile(
        64, 256, 256, start_ns=3258, tile_ns=2035, slice_ns=168, odd_ns=147, loads_ns=2484, turns=True
    ),
}
LONG_TILE = LooseTile(32, 64)


@functools.lru_cache(maxsize=4096)
def best_short(m: int, n: int, k: int, multiprocessors: int) -> tuple[float, str] | None:
    """About the time of the fastest, and its name; None beyond what was measured."""
    times = [
        (tile.time_ns(m, n, k, multiprocessors), name)
        for name, tile in SHORT_TILES.items()
        if tile.fits(m, n, k, multiprocessors)
    ]
    return min(times, default=None)


@functools.lru_cache(maxsize=4096)
def best_long(m: int, n: int, k: int, multiprocessors: int) -> tuple[float, int, int] | None:
    """About the time of long sums, blocks of a cluster, and clusters that share a tile.

    None beyond what was measured. Of clusters that share a tile a multiprocessor has room for two
    blocks each.
    """
    times: list[tuple[float, int, int]] = []
    tiles = LONG_TILE.count(m, n)
    for cluster in LONG_CLUSTERS:
        is_largest = cluster == LONG_CLUSTERS[-1]
        for shares in range(1, (_MOST_SHARES if is_largest else 1) + 1):
            steps, clusters = -(-k // (_LONG_STEP * cluster * shares)), tiles * shares
            if not is_largest:
                most = 2 * multiprocessors // cluster
            elif shares == 1:
                most = multiprocessors // cluster
            else:
                most = 3 * multiprocessors // (2 * cluster)
            if steps > _MOST_LONG_STEPS or clusters > most or (is_largest and steps < 2):
                continue
            time_ns = _LONG_NS + steps * _LONG_STEP_NS
            if shares > 1:
                time_ns += _LONG_MEET_NS + shares * _LONG_SHARE_NS
            else:
                beyond = max(clusters * cluster / multiprocessors - 1, 0)
                time_ns += beyond * (_LONG_BLOCKS_NS + steps * _LONG_BLOCKS_STEP_NS)
            times.append((time_ns, cluster, shares))
    return min(times, default=None)


def multiply_short_sums(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    name: str,
) -> torch.Tensor:
    """C from A and B with rows that begin anywhere, and all of k at once."""
    (m, k), n, tile = a.shape, b.shape[1], SHORT_TILES[name]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    program.launch(
        "short_sums_" + name.removesuffix("_turns"),
        (tile.blocks(m, n, k, program.multiprocessor_count), tile.across(n)),
        tile.threads,
        a,
        b,
        c,
        m,
        n,
        k,
        *extra,
        shared_bytes=tile.shared_bytes(k),
        overlaps=True,
    )
    return c


def multiply_long_sums(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    cluster: int = LONG_CLUSTERS[-1],
    shares: int = 1,
) -> torch.Tensor:
    """C from A and B with rows that begin anywhere; the blocks of so many clusters share k."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    blocks = LONG_TILE.count(m, n) * cluster
    # Sums of clusters that meet in memory, and of each block a flag that they are there.
    sums, flags = c, c
    if shares > 1:
        each = LONG_TILE.rows * LONG_TILE.columns // cluster
        sums = torch.empty((shares - 1) * blocks * each, dtype=torch.float32, device=a.device)
        flags = torch.empty((shares - 1) * blocks, dtype=torch.int64, device=a.device)
    row_bytes = LONG_TILE.rows * (_LONG_STEP * 2 + 16), _LONG_STEP * (LONG_TILE.columns * 2 + 16)
    program.launch(
        "long_sums_32x64",
        blocks * shares,
        _LONG_THREADS,
        a,
        b,
        c,
        m,
        n,
        k,
        sums,
        flags,
        new_ticket(),
        shares,
        *extra,
        shared_bytes=(_LONG_STAGES + 1) * sum(row_bytes),
        overlaps=True,
        cluster=cluster,
    )
    return c
