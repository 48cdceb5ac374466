"""Launches ``cuda_registers.cu``: RMS norm to FP8, some lanes a row up to 2 KB, a block a row above."""

import torch

from roofscope.kernels.shared.row_pieces import row_pieces
from roofscope.kernels.shared.rows import PACK_BYTES, are_packed, launch_rows, starts_early
from roofscope.kernels.shared.slab import Slab, Space, launch_slab, slab_of

WARP = 32
LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS = 256, 2**14
SLAB_LANES = (
    (1, 32),
    (2, 64),
    (4, 128),
)  # of a row of up to so many columns; more than one of 16-bit elements
# And of rows of such columns, where they are fewer than so many.
FEWER_COLS, LANES_OF_FEWER = range(17, 33), ((2**15, 4), (3 * 2**14, 2))
LANES_OF_A_COLUMN = 768  # at least, of all rows: a lane has much to do
PACKS = 4  # of a thread
PIECE_THREADS, PIECE_BLOCKS = 512, 2  # of a multiprocessor
LONGEST_WHOLE_ROW_BYTES = 64 * 1024
BLOCK_THREADS, MOST_THREADS = 512, 1024  # up to the first, rows are launched as those of other kernels are


def run(program, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes of the normalised rows of ``x``, (rows, cols) and contiguous, and their scales, (rows,)."""
    rows, cols = x.shape
    q = torch.empty((rows, cols), dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty(rows, dtype=torch.float32, device=x.device)
    tensors = (x, w, q, scale)
    packs = -(-cols * x.element_size() // PACK_BYTES)
    slab = slab_of_rows(x)
    if slab and q.data_ptr() % PACK_BYTES == 0:
        launch_slab(program, "rms_norm_quantize", slab, *tensors, rows, cols)
        return q, scale
    if cols * x.element_size() > LONGEST_WHOLE_ROW_BYTES and _lie_alike(x, q):
        one_round = PIECE_THREADS * PACK_BYTES // x.element_size()
        multiprocessors = program.multiprocessor_count
        length, pieces = row_pieces(rows, cols, one_round, multiprocessors, blocks=PIECE_BLOCKS)
        if pieces > 1:
            squares = torch.empty((rows, pieces), dtype=torch.float32, device=x.device)
            largest = torch.empty((rows, pieces), dtype=torch.int32, device=x.device)
            grid, statistics, sizes = rows * pieces, (x, w, squares, largest), (cols, length, pieces)
            arguments = (*statistics, *sizes)
            program.launch("rms_norm_quantize_statistics", grid, PIECE_THREADS, *arguments, overlaps=True)
            arguments = (*statistics, q, scale, *sizes)
            program.launch("rms_norm_quantize_piece", grid, PIECE_THREADS, *arguments, overlaps=True)
            return q, scale
    if BLOCK_THREADS < packs / PACKS <= MOST_THREADS and are_packed(cols, *tensors):
        threads = -(-packs // (PACKS * WARP)) * WARP
        early = starts_early(rows, program.multiprocessor_count)
        program.launch("rms_norm_quantize_long_4", rows, threads, *tensors, rows, cols, overlaps=early)
    else:
        launch_rows(program, "rms_norm_quantize", *tensors, at_any_alignment=_lie_alike(x, q), pairs=True)
    return q, scale


def slab_of_rows(x: torch.Tensor) -> Slab | None:
    """For many short rows that begin on no 16 bytes."""
    rows, cols = x.shape
    lanes = next((lanes for lanes, most in SLAB_LANES if cols <= most), 0)
    if cols in FEWER_COLS and x.element_size() == 2:
        lanes = next((more for most, more in LANES_OF_FEWER if rows < most), lanes)
    if not lanes or (lanes > 1 and x.element_size() != 2) or rows * lanes < LANES_OF_A_COLUMN * cols:
        return None
    space = Space(code_bytes=1, column_floats=1)
    return slab_of(x, LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS, space, lanes=lanes)


def _lie_alike(x: torch.Tensor, q: torch.Tensor) -> bool:
    """True where a pack of 16 aligned bytes of ``x`` has codes in aligned bytes of ``q``."""
    pack = PACK_BYTES // x.element_size()
    return x.data_ptr() // x.element_size() % pack == q.data_ptr() % pack
