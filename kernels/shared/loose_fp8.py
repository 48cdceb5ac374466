"""Launches what loose_fp8.cuh and short_fp8*.cuh compile to: the choice of a tile, and of blocks along k."""

import functools
import math
from dataclasses import dataclass

import torch

from roofscope import CudaProgram, Refusal, needs_hopper
from roofscope.kernels.shared import loose_tiles
from roofscope.kernels.shared.limits import require_32_bit_product

_WARP = 32
_BLOCK_K = 128  # of k, of a warp in a step, as in loose_fp8.cuh
_MANY_ROWS, _VERY_SHORT = 4096, 32  # of C, and of k, in which no block does much for a tile
CLUSTERS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, its warps, those along k, stages of its ring, blocks of a multiprocessor.

    ``copiers`` are warps that do nothing but copy; without one all do, beside their products.
    """

    rows: int
    columns: int
    warps: int
    warps_k: int
    stages: int
    at_once: int
    copiers: int = 0

    @property
    def name(self) -> str:
        kind = "_by_all" if not self.copiers else "_twice" if self.at_once == 2 else ""
        return f"loose_{self.rows}x{self.columns}{kind}"

    @property
    def threads(self) -> int:
        return (self.warps + self.copiers) * _WARP

    @property
    def step(self) -> int:
        """Of k."""
        return self.warps_k * _BLOCK_K

    @property
    def stage_bytes(self) -> int:
        """Of A and B, each row with a word more."""
        return (self.rows + self.columns) * (self.step + 16)

    @property
    def shared_bytes(self) -> int:
        """With two barriers a stage where some warps copy for others."""
        return self.stages * (self.stage_bytes + (2 * 8 if self.copiers else 0))

    def count(self, m: int, n: int) -> int:
        """Tiles that cover C."""
        return -(-m // self.rows) * -(-n // self.columns)


# As in loose_fp8.cuh.
TILES = (
    Tile(16, 32, 8, 8, stages=3, at_once=1, copiers=4),
    Tile(16, 64, 8, 4, stages=4, at_once=1, copiers=4),
    Tile(16, 64, 8, 4, stages=2, at_once=2, copiers=4),
    Tile(16, 64, 8, 2, stages=3, at_once=3),
    Tile(32, 64, 8, 4, stages=4, at_once=1, copiers=4),
    Tile(32, 128, 4, 1, stages=4, at_once=2),
    Tile(64, 32, 8, 4, stages=4, at_once=1),
    Tile(64, 64, 8, 1, stages=2, at_once=2),
    Tile(64, 128, 8, 1, stages=3, at_once=2),
    Tile(128, 32, 8, 2, stages=4, at_once=1),
    Tile(128, 128, 8, 1, stages=4, at_once=1),
)


@dataclass(frozen=True)
class ShortTile(loose_tiles.LooseTile):
    """A kernel of short_fp8.cuh, and blocks of a multiprocessor, as far as shared memory goes.

    It is taken for up to ``most`` of the narrowest tiles a multiprocessor, or where it has all columns.
    """

    at_once: int
    most: int | None = None

    @property
    def name(self) -> str:
        return f"short_{self.rows}x{self.columns}"

    def shared_bytes(self, k: int) -> int:
        """Of B and A in float16, and of C in place of A."""
        pitch = _short_pitch(k)
        return self.columns * pitch + self.rows * max(pitch, self.columns * 2 + 16)

    def together(self, k: int) -> int:
        """Blocks of a multiprocessor at once."""
        return min(self.at_once, _SHARED // (self.shared_bytes(k) + 1024))

    def grid(self, m: int, n: int, k: int, multiprocessors: int) -> int | tuple[int, int]:
        """Of the rows' blocks as many as run at once, for each keeps its columns of B from tile to tile."""
        across = self.across(n)
        return min(-(-m // self.rows), max(self.together(k) * multiprocessors // across, 1)), across


@dataclass(frozen=True)
class WordsTile(ShortTile):
    """The kernel of short_fp8_words.cuh: of eight warps, each with 16 rows that are 16 apart."""

    @property
    def name(self) -> str:
        return "short_words"

    def across(self, n: int) -> int:
        """Tiles beside each other, which begin up to a sector, less an element, before a row does."""
        return -(-(n + (_SECTOR - 1 if n % _SECTOR else 0)) // self.columns)

    def shared_bytes(self, k: int) -> int:
        """Of B, a sector's rows more, with a word between 8 and the next, and of A, in float16."""
        held = self.columns + _SECTOR
        return (held + self.rows) * _short_pitch(k) + held // 8 * 16

    def grid(self, m: int, n: int, k: int, multiprocessors: int) -> int:
        """Of blocks that share all tiles.

        Of many rows that begin amid a sector as many for each column of tiles, so that neighbours write the
        same rows at about the same time.
        """
        across = self.across(n)
        tiles = -(-m // (16 * _SECTOR)) * (16 * _SECTOR // self.rows) * across
        blocks = min(tiles, self.together(k) * multiprocessors)
        is_even = m >= _MANY_ROWS and k > _VERY_SHORT and n % _SECTOR
        return blocks - blocks % across if is_even and blocks > across else blocks


def _short_pitch(k: int) -> int:
    """Bytes of a row of A or B in shared memory."""
    return max(-(-k // 16), 2) * 32 + 16


# As in short_fp8.cuh and short_fp8_words.cuh, in the order in which they are taken. Little of C needs many
# blocks; where there is much, stores take the time. A tile that has all columns stores its rows as one run.
SHORT_TILES = (
    ShortTile(64, 64, at_once=4, most=3),
    ShortTile(64, 128, at_once=3, most=12),
    ShortTile(64, 256, at_once=2, most=0),
    WordsTile(128, 256, at_once=3),
)
_SHORT_THREADS = 256
_SECTOR = 16  # elements of C in 32 bytes
_FEW_ROWS = 16  # up to which tiles of 64 would multiply little but nothing
_FEW_SHORT = 0.46  # of the narrowest tiles a multiprocessor: fewer leave the GPU to smaller loose tiles
_SHARED = 225_000  # bytes of a multiprocessor
_MOST_ACROSS = 2**16 - 1  # blocks beside each other
_WORD = 16  # elements


def multiply(
    program: CudaProgram,
    key: str,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
) -> torch.Tensor:
    """C (m x n) in bfloat16 from A (m x k), B (n x k) and their scales.

    Raises Refusal under the name ``key`` where clusters are missing and beyond 32-bit sizes.
    """
    if a.dtype != torch.float8_e4m3fn:
        raise Refusal(f"{key} multiplies E4M3; matmul takes wider elements.")
    needs_hopper(key, a.device)
    (m, k), n = a.shape, b.shape[0]
    require_32_bit_product(key, m, n, k)
    if not m * n * k:
        return torch.zeros((m, n), dtype=torch.bfloat16, device=a.device)
    short = best_short(m, n, k, program.multiprocessor_count)
    if short is not None:
        return launch_short(program, short, a, b, scale_a, scale_b)
    tile, cluster = best(m, n, k, program.multiprocessor_count)
    return launch(program, tile, cluster, a, b, scale_a, scale_b)


def launch(
    program: CudaProgram,
    tile: Tile,
    cluster: int,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
) -> torch.Tensor:
    """Multiply by this tile, shared by so many blocks."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=torch.bfloat16, device=a.device)
    slice_k = -(-k // (cluster * tile.step)) * tile.step
    is_amid = k % 4 or a.data_ptr() % 4 or b.data_ptr() % 4
    program.launch(
        tile.name + ("_amid" if is_amid else ""),
        tile.count(m, n) * cluster,
        tile.threads,
        *(a.view(torch.uint8), b.view(torch.uint8), c, scale_a, scale_b),
        *(m, n, k, slice_k),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
        cluster=cluster,
    )
    return c


def best_short(m: int, n: int, k: int, multiprocessors: int) -> ShortTile | None:
    """The tile for sums of one block of k.

    None for longer ones, for few rows, for little of C from rows that are not of whole words, and beyond a
    grid's size.
    """
    if k > _BLOCK_K or m <= _FEW_ROWS:
        return None
    narrow = SHORT_TILES[0].count(m, n)
    if narrow < _FEW_SHORT * multiprocessors and k % _WORD:
        return None
    for tile in SHORT_TILES:
        enough = tile.most is None or tile.across(n) == 1 or narrow <= tile.most * multiprocessors
        if enough and tile.across(n) <= _MOST_ACROSS:
            return tile
    return None


def launch_short(
    program: CudaProgram,
    tile: ShortTile,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
) -> torch.Tensor:
    """Multiply by this tile; k is one block at most."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=torch.bfloat16, device=a.device)
    program.launch(
        tile.name,
        tile.grid(m, n, k, program.multiprocessor_count),
        _SHORT_THREADS,
        *(a.view(torch.uint8), b.view(torch.uint8), c, scale_a, scale_b, m, n, k),
        shared_bytes=tile.shared_bytes(k),
        overlaps=True,
    )
    return c


# What a product takes, in nanoseconds: fitted to times of 93 products, with and without scales of blocks,
# on an H200, and again to 73 drawn at random.
_STEP_NS = 983  # of a step, for itself
_PRODUCT_NS = 1.576  # of a step, for each mma.sync of a warp
_ROW_NS = 5.0  # of a step, for each row that a copying warp starts to copy
_WORD_NS = 185  # of a step, for each word that a thread copies beside its products
_ALL_PRODUCTS_NS = 2.48  # of a multiprocessor, for each mma.sync
_BYTE_NS = 0.021  # into a multiprocessor
_START_NS = 2220
_COPIERS_NS = 79  # that there are any
_MEETING_NS, _MEETING_BLOCK_NS = 3382, 110  # of a cluster, and for each of its blocks
_MEMORY_BYTE_NS = 0.00021
_LAUNCH_NS = 1500
_TAIL, _MANY_ROUNDS = 0.92, 6  # what a last round takes at least, and rounds after which it does not count
# For each element of a tile that a warp stores, and for each of a multiprocessor: by words of 16 bytes, and
# where sums meet.
_WORDS_OUT_NS = (0.427, 0.125)
_PAIRS_OUT_NS = (0.801, 0.41)


def time_ns(tile: Tile, cluster: int, m: int, n: int, k: int, multiprocessors: int) -> float:
    """About the time of a product."""
    steps, blocks = -(-k // (cluster * tile.step)), tile.count(m, n) * cluster
    beside = min(-(-blocks // multiprocessors), tile.at_once)
    rounds = _rounds(blocks / (multiprocessors * tile.at_once))
    products = tile.rows * tile.columns / 128 * tile.step / 16  # of 16 x 8 elements and 16 of k
    if steps == 1:
        products *= min(1.0, -(-k // 16) * 16 / _BLOCK_K)
    rows, elements = min(m, tile.rows) + min(n, tile.columns), min(m, tile.rows) * min(n, tile.columns)
    stage_bytes = rows * (min(tile.step, k) + 16)
    words = stage_bytes / 16 / (tile.warps * _WARP)
    copied = _ROW_NS * rows / tile.copiers if tile.copiers else _WORD_NS * words
    alone = _STEP_NS + _PRODUCT_NS * products / tile.warps + copied
    step = _hardest(alone, beside * products * _ALL_PRODUCTS_NS, beside * stage_bytes * _BYTE_NS)
    of_warp, of_all = _PAIRS_OUT_NS if tile.warps_k > 1 or cluster > 1 else _WORDS_OUT_NS
    out = max(elements / tile.warps * of_warp, elements / cluster * beside * of_all)
    meeting = _MEETING_NS + cluster * _MEETING_BLOCK_NS if cluster > 1 else 0
    multiplied = rounds * (steps * step + _START_NS + bool(tile.copiers) * _COPIERS_NS + out + meeting)
    return _hardest(multiplied, (m * k + n * k + 2 * m * n) * _MEMORY_BYTE_NS + _LAUNCH_NS)


def _rounds(full: float) -> float:
    """Of blocks, so many times what runs at once: a last one that is filled in part takes nearly a whole one.

    Blocks of many rounds end at many times, and none is the last.
    """
    whole, rest = math.floor(full), full - math.floor(full)
    if full <= 1:
        return 1
    return full if full > _MANY_ROUNDS or not rest else whole + max(rest, _TAIL)


def _hardest(*times: float) -> float:
    """What several take that run beside each other: the longest, or more where others are as long."""
    return math.hypot(*(time * time for time in times)) ** 0.5


@functools.lru_cache(maxsize=4096)
def best(m: int, n: int, k: int, multiprocessors: int) -> tuple[Tile, int]:
    """The tile and cluster of least time."""
    ways = [(tile, cluster) for tile in TILES for cluster in CLUSTERS]
    return min(ways, key=lambda way: time_ns(*way, m, n, k, multiprocessors))
