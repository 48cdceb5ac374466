"""Launches ``cuda_lookback.cu``: running sums of rows, a warp or a block a row, or blocks on its tiles."""

from typing import NamedTuple

import torch

from roofscope.kernels.shared.slab import Slab, launch_slab, slab_of

THREADS = 256  # as in cuda_lookback.cu
WIDE_THREADS = 1024  # as in cuda_lookback.cu
GROUP = 256
LONG_PACKS = (8, 4, 2, 1)  # of a thread in a tile of a long row
PACK_BYTES = 16
WARP = 32
WARPS = 4  # of a block of short rows
LANES = (4, 8, 16)  # of a row that is shorter than a warp
LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS = 256, 4096
# Of float32 also where lanes would leave at least so much empty, unless all rows begin in the same banks.
LONGEST_LOOSE_ROW_BYTES, LEAST_EMPTY_BYTES, BANKS_BYTES = 512, 4 * 1024 * 1024, 128
# Of float32 rows, where they are no more: warps of a row, elements of a lane.
MOST_COLUMNS_ROWS, LEAST_OF_COLUMNS, COLUMNS = 2048, 128, ((2, 4), (4, 4), (8, 4), (8, 8))
# Of float32 rows that a block of just enough warps holds: the fewest columns, by the rows at most, and of
# more; then packs of a lane, by the columns at most.
LEAST_HELD, LEAST_HELD_OF_MANY = {528: 2049, 1056: 1025, MOST_COLUMNS_ROWS: 513}, 385
HELD_WARPS, HELD_PACKS = 16, {1280: 2, 5000: 3, 8188: 4}
SHORTEST_LONG_BYTES = 64 * 1024  # of rows that blocks share: a second kernel takes longer than a few tiles
FEW_ROWS = 0.6  # of the multiprocessors: more rows keep them busy with a block each
# Of all rows that come through rings, which take some microseconds until all of them are full. Of 16-bit
# elements a tile has twice as many to add up, and blocks that look back are faster.
LEAST_RING_BYTES, LEAST_RING_ROW_BYTES = 32 * 1024 * 1024, 24 * 1024 * 1024  # the latter of a single row
RING_ELEMENT_BYTES, HOPPER = 4, "sm_90"
RING_ROWS = 1.6  # of the multiprocessors: of more rows a block each fills the last round as well
RING_STAGES, RING_PACKS, RING_WARPS = 6, 4, 16  # as in ring.cuh
RING_TILE_BYTES, RING_THREADS = RING_PACKS * RING_WARPS * WARP * PACK_BYTES, (RING_WARPS + 3) * WARP
TILES = 0.5  # of the multiprocessors, at least: where larger tiles give fewer, they are smaller
# Blocks on such tiles, of any size, that a multiprocessor of Hopper has at once; elsewhere one has room for
# certain. Smaller tiles are faster where all of them run at once.
BLOCKS_AT_ONCE, SMALLER_PACKS = 4, 4
# Where those tiles are too many: packs of which the multiprocessors that have most tiles have fewest in all.
MIDDLE_PACKS = (5, 6, 7, 8)
# More tiles than a GROUP are those of larger blocks, up to so many of each multiprocessor of Hopper.
LARGE, LARGE_THREADS, MOST_LARGE = "resident_large_2", 512, 2.5
# Up to so many rows of more than so many bytes have clusters of so many blocks, fewer where rows are shorter.
CLUSTER_ROWS = ((4, 16 * 1024), (16, SHORTEST_LONG_BYTES))
SMALL_CLUSTER, CLUSTER, MOST_SMALL_BYTES = 8, 16, 64 * 1024
CLUSTER_PACKS = (1, 2, 4)
# What a cluster has of a row, in turn: threads of a block, packs of each, the most parts of a row, and rows.
# To start more threads takes longer than one does with more packs.
SHARES = ((384, 4, 1, 16), (384, 2, 7, 1), (384, 4, 6, 16), (512, 4, 6, 16))
# A cluster reads all that lies before its part: at most so many bytes of all rows, and so many again. Then
# the most clusters where rows have up to two parts, and where they have more, whose last ones read the most.
MOST_CLUSTER_BYTES, MOST_AGAIN_BYTES = 7 * 2**20, 15 * 2**19
MOST_CLUSTERS_OF_PAIRS, MOST_CLUSTERS = 24, 12


class Choice(NamedTuple):
    """A kernel by its name without ``cumsum_``, and its launch."""

    name: str
    blocks: int
    threads: int
    tiles: int = 0  # of a row, where blocks look back
    cluster: int = 1  # blocks
    parts: int = 0  # of a row, with a cluster each


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Running sums of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    slab = slab_of_rows(x)
    if slab and y.data_ptr() % PACK_BYTES == 0:
        launch_slab(program, "cumsum", slab, x, y, rows, cols)
        return y
    row_bytes = cols * x.element_size()
    is_hopper = program.architecture.startswith(HOPPER)
    if x.element_size() == RING_ELEMENT_BYTES:
        are_aligned = x.data_ptr() % PACK_BYTES == y.data_ptr() % PACK_BYTES == 0
        has_cluster = is_hopper and by_cluster(rows, row_bytes)
        held = held_of(rows, cols) if are_aligned and not has_cluster else None
        if found := held or by_columns(rows, cols):
            launch(program, x, y, found)
            return y
    if x.data_ptr() % PACK_BYTES or row_bytes % PACK_BYTES:
        row_bytes += PACK_BYTES  # of packs that lie only partly in the row
    has_rings = is_hopper and x.element_size() == RING_ELEMENT_BYTES
    chosen = choose(rows, row_bytes, program.multiprocessor_count, is_hopper=is_hopper, has_rings=has_rings)
    launch(program, x, y, chosen)
    return y


def slab_of_rows(x: torch.Tensor) -> Slab | None:
    """For short rows, a thread each: many that begin on no 16 bytes, or that fit lanes badly."""
    if found := slab_of(x, LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS):
        return found
    rows, cols = x.shape
    row_bytes = cols * x.element_size()
    if row_bytes % BANKS_BYTES == 0 or x.element_size() != RING_ELEMENT_BYTES:
        return None
    lanes = next((lanes for lanes in (*LANES, WARP) if row_bytes <= lanes * PACK_BYTES), 0)
    if rows * (lanes * PACK_BYTES - row_bytes) < LEAST_EMPTY_BYTES:
        return None
    return slab_of(x, LONGEST_LOOSE_ROW_BYTES, 1, packed=True)


def choose(rows: int, row_bytes: int, multiprocessors: int, *, is_hopper: bool, has_rings: bool) -> Choice:
    """For rows whose packs, whole or not, take ``row_bytes``; only Hopper ``has_rings``."""
    for lanes in LANES:
        if row_bytes <= lanes * PACK_BYTES:
            return Choice(f"lanes_{lanes}", -(-rows * lanes // (WARPS * WARP)), WARPS * WARP)
    for packs in (1, 2, 4):  # of a thread
        if row_bytes <= packs * WARP * PACK_BYTES:
            return Choice(f"warp_{packs}", -(-rows // WARPS), WARPS * WARP)
    if is_hopper and (found := by_cluster(rows, row_bytes)):
        return found
    is_long = row_bytes > SHORTEST_LONG_BYTES
    least = LEAST_RING_BYTES if rows > 1 else LEAST_RING_ROW_BYTES
    if has_rings and is_long and rows <= RING_ROWS * multiprocessors and rows * row_bytes >= least:
        tiles = -(-row_bytes // RING_TILE_BYTES)
        return Choice("ring", min(rows * tiles, multiprocessors), RING_THREADS, tiles)
    if is_long and rows <= FEW_ROWS * multiprocessors:
        blocks_at_once = BLOCKS_AT_ONCE if is_hopper else 1
        at_once = multiprocessors * blocks_at_once
        return looking_back(rows, row_bytes, multiprocessors, at_once, has_rings=has_rings)
    if rows <= multiprocessors:
        for packs in (2, 4):
            if row_bytes <= packs * WIDE_THREADS * PACK_BYTES and row_bytes > 4 * THREADS * PACK_BYTES:
                return Choice(f"wide_{packs}", rows, WIDE_THREADS)
    packs = next((p for p in (1, 2) if row_bytes <= p * THREADS * PACK_BYTES), 4)
    return Choice(f"block_{packs}", rows, THREADS)


def by_columns(rows: int, cols: int) -> Choice | None:
    """Some warps a row, of rows that are not too many, too short or too long."""
    if rows > MOST_COLUMNS_ROWS or cols <= LEAST_OF_COLUMNS:
        return None
    for warps, each in COLUMNS:
        if cols <= warps * WARP * each:
            return Choice(f"columns_{warps}_{each}", rows, warps * WARP)
    return None


def held_of(rows: int, cols: int) -> Choice | None:
    """A block a row, of just enough warps: held.cuh."""
    least = next((least for most, least in LEAST_HELD.items() if rows <= most), LEAST_HELD_OF_MANY)
    if cols < least:
        return None
    packs = next((packs for most, packs in HELD_PACKS.items() if cols <= most), None)
    if packs is None:
        return None
    pack = PACK_BYTES // RING_ELEMENT_BYTES
    skewed = cols + pack - 1 if cols % pack else cols  # a row's first pack may begin before it
    warps = -(-skewed // (packs * pack * WARP))
    return Choice(f"held_{packs}", rows, warps * WARP)


def by_cluster(rows: int, row_bytes: int) -> Choice | None:
    """A cluster a row or more, of few rows that are long enough for one and not too long."""
    least = next((least for most, least in CLUSTER_ROWS if rows <= most), row_bytes)
    if row_bytes <= least or rows * row_bytes > MOST_CLUSTER_BYTES:
        return None
    cluster = SMALL_CLUSTER if row_bytes <= MOST_SMALL_BYTES else CLUSTER
    for most_threads, most_packs, most_parts, most_rows in SHARES:
        share = most_threads * most_packs * cluster * PACK_BYTES
        parts = -(-row_bytes // share)
        if rows > most_rows or parts > most_parts or not pay_parts(rows, parts, share):
            continue
        of_block = -(-row_bytes // (parts * cluster * PACK_BYTES))
        packs = next(p for p in CLUSTER_PACKS if of_block <= p * most_threads)
        threads = -(-of_block // (packs * WARP)) * WARP
        return Choice(f"cluster_{packs}", rows * parts * cluster, threads, cluster=cluster, parts=parts)
    return None


def pay_parts(rows: int, parts: int, share: int) -> bool:
    """True where so many clusters of ``share`` bytes each read little enough again."""
    again = rows * share * parts * (parts - 1) // 2
    most = MOST_CLUSTERS if parts > 2 else MOST_CLUSTERS_OF_PAIRS
    return rows * parts <= most and again <= MOST_AGAIN_BYTES


def looking_back(rows: int, row_bytes: int, multiprocessors: int, at_once: int, *, has_rings: bool) -> Choice:
    """Blocks on tiles, the largest that leave work for all multiprocessors; ``at_once`` blocks have room.

    A GROUP of tiles waits for the one before, and is as long as a block has threads.
    """

    def tiles_of(packs: int) -> int:
        return -(-row_bytes // (packs * THREADS * PACK_BYTES))

    packs = next((p for p in LONG_PACKS if rows * tiles_of(p) >= TILES * multiprocessors), LONG_PACKS[-1])
    if packs > SMALLER_PACKS and rows * tiles_of(SMALLER_PACKS) <= at_once:
        tiles = tiles_of(SMALLER_PACKS)
        if has_rings and tiles > GROUP and rows * tiles <= MOST_LARGE * multiprocessors:
            return Choice(LARGE, rows * tiles, LARGE_THREADS, tiles)
        packs = SMALLER_PACKS
    elif packs > SMALLER_PACKS and at_once > multiprocessors:
        fitting = [p for p in MIDDLE_PACKS if rows * tiles_of(p) <= at_once]
        packs = min(fitting, key=lambda p: p * -(-rows * tiles_of(p) // multiprocessors), default=packs)
    tiles = tiles_of(packs)
    name = "resident" if rows * tiles <= at_once else "lookback"
    return Choice(f"{name}_{packs}", rows * tiles, THREADS, tiles)


def launch(program, x: torch.Tensor, y: torch.Tensor, chosen: Choice) -> None:
    """Launch what was chosen."""
    rows, cols = x.shape
    name = f"cumsum_{chosen.name}"
    if not chosen.tiles:
        # Early also where a multiprocessor has few blocks, which was the faster at all shapes tried.
        sizes = (rows, cols, chosen.parts) if chosen.parts else (rows, cols)
        cluster = chosen.cluster
        program.launch(name, chosen.blocks, chosen.threads, x, y, *sizes, overlaps=True, cluster=cluster)
        return
    is_ring = chosen.name == "ring"
    count = 1 + rows * chosen.tiles + (0 if is_ring else rows * -(-chosen.tiles // GROUP))
    words = torch.empty(count, dtype=torch.int64, device=x.device)
    program.launch("cumsum_forget", -(-count // THREADS), THREADS, words, count, overlaps=True)
    arguments = (x, y, words, rows, cols, chosen.tiles)
    shared_bytes = RING_STAGES * RING_TILE_BYTES if is_ring else 0
    program.launch(name, chosen.blocks, chosen.threads, *arguments, shared_bytes=shared_bytes, overlaps=True)
