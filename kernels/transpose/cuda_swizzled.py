"""Launches ``cuda_swizzled.cu``: a transpose, one block per tile: square, or long where a matrix is thin."""

import torch

SQUARES = 16  # on a side of a tile, as in cuda_swizzled.cu
PACK_BYTES = 16
SKEWED_THREADS = 256  # as in skewed.cuh
WARP = 32
MOST_ACROSS = 10  # squares side by side in a block that has all of few rows
SMALL_PACKS, MOST_SMALL = 4, 2**18  # on a side of a tile of matrices of so few elements
TILE = 32  # as in tile.cuh
TILE_ROWS = 8
MOST_FEW = 256  # rows or columns of a thin matrix
MOST_NARROW = 48  # the same where they are whole packs, or not so long
THIN_THREADS = 256
MOST_OF_MANY_BLOCKS = 8192  # elements of a tile, where it need not be larger to be SHORTEST_BITS long
THIN_BYTES = 32 << 10  # of a tile of a thin matrix, at most
BLOCKS_PER_MULTIPROCESSOR = 4  # at least, where smaller tiles give so many
SKEWED_PART = 3  # as few blocks of these are enough, which move more at a time
SHORTEST_BITS = 6  # 64 elements of a line, if so many fit
DIRECT_UNROLL = 2  # as in thin.cuh
MOST_DIRECT_FEW, MOST_DIRECT = 8, 2**20  # lines, and elements, where no tile is worth its time


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Transpose ``x``, (rows, cols) and contiguous. Gives (cols, rows)."""
    rows, cols = x.shape
    y = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return y
    enough = BLOCKS_PER_MULTIPROCESSOR * program.multiprocessor_count
    few, many = min(rows, cols), max(rows, cols)
    pack = PACK_BYTES // x.element_size()
    if few == 1:
        program.launch("transpose_line", -(-many // (THIN_THREADS * pack)), THIN_THREADS, x, y, rows, cols)
        return y
    end = "rows" if rows == few else "cols"
    if few <= MOST_DIRECT_FEW and rows * cols <= MOST_DIRECT:
        blocks = -(-rows * cols // (THIN_THREADS * DIRECT_UNROLL))
        program.launch(f"transpose_direct_{end}", blocks, THIN_THREADS, x, y, rows, cols)
        return y
    packed = rows % pack == cols % pack == 0 and x.data_ptr() % PACK_BYTES == y.data_ptr() % PACK_BYTES == 0
    is_wide = few <= MOST_FEW and not packed and -(-many >> SHORTEST_BITS) >= enough // 2
    if is_wide and rows == few and rows % pack == 0 and y.data_ptr() % PACK_BYTES == 0:
        down = rows // pack
        across = min(SKEWED_THREADS // down, MOST_ACROSS)
        program.launch(
            "transpose_skewed_few",
            -(-cols // (across * pack)),
            -(-down * across // WARP) * WARP,
            *(x, y, rows, cols, across),
            shared_bytes=(rows * (across + 1) + down) * PACK_BYTES,
        )
        return y
    if few <= MOST_NARROW < many or is_wide:
        bits = thin_bits(few, many, enough, x.element_size())
        program.launch(
            f"transpose_few_{end}",
            -(-many >> bits),
            THIN_THREADS,
            *(x, y, rows, cols, bits),
            shared_bytes=thin_packs(end, few, bits, pack) * PACK_BYTES,
        )
        return y
    if packed:
        side = SQUARES * pack
        blocks = -(-rows // side) * -(-cols // side)
        program.launch("transpose_squares", blocks, SQUARES * SQUARES, x, y, rows, cols)
        return y
    _launch_at_any_alignment(program, x, y, enough)
    return y


def _launch_at_any_alignment(program, x: torch.Tensor, y: torch.Tensor, enough: int) -> None:
    """By the first tiles that are ``enough``, or by the smallest."""
    rows, cols = x.shape
    pack = PACK_BYTES // x.element_size()
    if rows * cols <= MOST_SMALL:
        tiles = [("transpose_skewed_small", SMALL_PACKS * pack, SMALL_PACKS * pack, SKEWED_THREADS)]
    else:
        tiles = [
            skewed_tile(rows, pack, y.data_ptr() % PACK_BYTES == 0),
            ("transpose_large_tiles", 2 * TILE, 2 * TILE, TILE * TILE_ROWS),
            ("transpose_tiles", TILE, TILE, TILE * TILE_ROWS),
        ]
    for name, height, width, threads in tiles:
        blocks = -(-rows // height) * -(-cols // width)
        is_skewed = name.startswith("transpose_s")
        if blocks >= (enough // SKEWED_PART if is_skewed else enough) or name == tiles[-1][0]:
            program.launch(name, blocks, threads, x, y, rows, cols)
            return


def skewed_tile(rows: int, pack: int, is_aligned: bool) -> tuple[str, int, int, int]:
    """The kernel whose tiles go by whole words, how far these lie apart down and across, and its threads."""
    if rows % pack == 0 and is_aligned:
        return "transpose_skewed", SQUARES * pack, SQUARES // 2 * pack, SQUARES * SQUARES // 2
    # Tiles that overlap by a row of squares, of those the ones that end nearer to the last row.
    down = min((SQUARES, 2 * SQUARES), key=lambda down: -(-rows // ((down - 1) * pack)) * (down - 1))
    across = SQUARES * SQUARES // down
    return f"transpose_shifted_{down}", (down - 1) * pack, across * pack, down * across


def thin_packs(end: str, few: int, bits: int, pack: int) -> int:
    """Packs of a tile of a thin matrix in shared memory, as thin.cuh lays them."""
    if end == "rows":
        return few * ((1 << bits) // pack + 1) + few // pack
    return -(-((1 << bits) + pack - 1) * few // pack)


def thin_bits(few: int, many: int, enough: int, size: int) -> int:
    """The length of a tile of a thin matrix, as a power of two: less where tiles would not be ``enough``."""
    bits = (THIN_BYTES // size // few).bit_length() - 1
    while bits > SHORTEST_BITS and (few << bits > MOST_OF_MANY_BLOCKS or -(-many >> bits) < enough):
        bits -= 1
    return bits
