"""Launches ``cuda_lookback.cu``: running sums of rows, a warp or a block a row, or blocks on its tiles."""

from typing import NamedTuple

import torch

THREADS = 256  # as in cuda_lookback.cu
WIDE = 1024  # threads, as in cuda_lookback.cu
GROUP = 256
LONG_PACKS = (8, 4, 2, 1)  # of a thread in a tile of a long row
PACK_BYTES = 16
WARP = 32
WARPS = 4  # rows in a block of short rows
FEW_ROWS_PER_MULTIPROCESSOR = 2
TILES_PER_MULTIPROCESSOR = 2  # at least, where smaller tiles give so many
WIDE_BYTES = 2 * WIDE * PACK_BYTES  # of a row that one block has, where rows are few


class Choice(NamedTuple):
    """A kernel by its name without ``cumsum_``, and its launch."""

    name: str
    blocks: int
    threads: int
    tiles: int = 0  # of a row, where blocks look back


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Running sums of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    row_bytes = cols * x.element_size()
    if x.data_ptr() % PACK_BYTES or row_bytes % PACK_BYTES:
        row_bytes += PACK_BYTES  # of packs that lie only partly in the row
    launch(program, x, y, choose(rows, row_bytes, program.multiprocessor_count))
    return y


def choose(rows: int, row_bytes: int, multiprocessors: int) -> Choice:
    """For rows whose packs, whole or not, take ``row_bytes``."""
    for packs in (1, 2, 4):  # of a thread
        if row_bytes <= packs * WARP * PACK_BYTES:
            return Choice(f"warp_{packs}", -(-rows // WARPS), WARPS * WARP)
    if rows <= FEW_ROWS_PER_MULTIPROCESSOR * multiprocessors:
        if row_bytes > WIDE_BYTES:
            return looking_back(rows, row_bytes, multiprocessors)
        if row_bytes > 2 * THREADS * PACK_BYTES:
            return wide(rows, row_bytes)
    packs = next((p for p in (1, 2) if row_bytes <= p * THREADS * PACK_BYTES), 4)
    return Choice(f"block_{packs}", rows, THREADS)


def wide(rows: int, row_bytes: int) -> Choice:
    """A block of many threads a row of up to WIDE_BYTES, or one that is read in steps of as much."""
    packs = 1 if row_bytes <= WIDE * PACK_BYTES else 2
    return Choice(f"wide_{packs}", rows, WIDE)


def looking_back(
    rows: int, row_bytes: int, multiprocessors: int, sizes: tuple[int, ...] = LONG_PACKS
) -> Choice:
    """Blocks on tiles, of the largest of ``sizes`` that leaves work for all multiprocessors."""
    for packs in sizes:
        tiles = -(-row_bytes // (packs * THREADS * PACK_BYTES))
        if rows * tiles >= TILES_PER_MULTIPROCESSOR * multiprocessors:
            break
    return Choice(f"lookback_{packs}", rows * tiles, THREADS, tiles)


def launch(program, x: torch.Tensor, y: torch.Tensor, chosen: Choice) -> None:
    """Launch what was chosen."""
    rows, cols = x.shape
    name = f"cumsum_{chosen.name}"
    if not chosen.tiles:
        sizes = (rows, cols) if chosen.name.startswith("warp") else (cols,)
        program.launch(name, chosen.blocks, chosen.threads, x, y, *sizes)
        return
    count = 1 + rows * (chosen.tiles + -(-chosen.tiles // GROUP))
    words = torch.empty(count, dtype=torch.int64, device=x.device)
    program.launch("cumsum_forget", -(-count // THREADS), THREADS, words, count)
    arguments = (x, y, words, rows, cols, chosen.tiles)
    program.launch(name, chosen.blocks, chosen.threads, *arguments, overlaps=True)
