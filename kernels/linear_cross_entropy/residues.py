"""Launches residues.cuh: tiles of logits from rows of w that begin anywhere, without a copy of w."""

import math
from dataclasses import dataclass

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.shared.wgmma_plans import Tile
from roofscope.kernels.shared.whole_rows import both_in_whole_units, is_whole

Tensor = torch.Tensor

# Across: 64 rows of w for a warpgroup. A multiprocessor has room for two blocks; each warp leaves a piece.
ACROSS = {
    "across_16x64": Tile(16, 64, stages=8, step_ns=118, across=True),
    "across_16x64_by_2": Tile(16, 64, stages=8, step_ns=118, across=True),
    "across_32x64": Tile(32, 64, stages=8, step_ns=123, across=True),
    "across_32x64_by_2": Tile(32, 64, stages=8, step_ns=123, across=True),
    "across_32x64_by_4": Tile(32, 64, stages=8, step_ns=123, across=True),
}
BLOCKS_ACROSS, _PIECES_ACROSS = 2, 4
_STEP = 64  # elements of hidden in a stage
_WORD, _LINE = 8, 64  # elements of 16 bytes, and of a line of L2
_MOST_PLACES = 2**31  # in a long row, which 32 bits count
_THREADS = 256  # of a block that copies x
# About the times of a launch more, and of copies of x.
_COPY_NS, _COPY_BYTES_PER_NS = 1500, 2000


@dataclass(frozen=True, slots=True)
class Order:
    """Rows of w by their numbers' residues by 2^shift; its boxes begin at multiples of ``unit`` elements."""

    shift: int
    unit: int

    @property
    def period(self) -> int:
        return 1 << self.shift

    @property
    def aligned(self) -> tuple[bool, bool]:
        """Whether boxes of x, and of w, begin on lines."""
        return self.unit == _WORD, self.unit == _LINE


ALL = Order(0, _WORD)  # as they lie, or their copy does


def suits(w: Tensor) -> bool:
    """Whether w begins where TMA can."""
    return w.is_contiguous() and w.data_ptr() % 16 == 0


def orders(vocab: int, hidden: int) -> list[Order]:
    """Of all rows as they lie, and by which those of a residue begin alike amid 16 bytes, or amid lines."""
    found = [ALL]
    for unit in (_WORD, _LINE):
        period = unit // math.gcd(unit, hidden)
        if 1 < period <= vocab and period * hidden < _MOST_PLACES:
            found.append(Order(period.bit_length() - 1, unit))
    return found


def columns_of(tile: Tile, vocab: int, order: Order) -> int:
    """Of all tiles beside each other, the last ones of each residue's rows cut or not."""
    longest = math.ceil(vocab / order.period)
    return math.ceil(longest / tile.columns) * tile.columns * order.period


def copies_of(hidden: int) -> int:
    """Of x: one for each place that a row of so many elements may have in 16 bytes."""
    return _WORD // math.gcd(_WORD, hidden)


def copy_ns(rows: int, hidden: int) -> float:
    copies = copies_of(hidden)
    return _COPY_NS + 2 * copies * rows * hidden / _COPY_BYTES_PER_NS if copies > 1 else 0


def launch(
    program: CudaProgram,
    name: str,
    tile: Tile,
    parts: int,
    order: Order,
    x: Tensor,
    w: Tensor,
    labels: Tensor,
    at_label: Tensor,
) -> Tensor:
    """The pieces of each row, of a tile or of a block's part of it."""
    (rows, hidden), vocab = x.shape, len(w)
    if order == ALL:
        x, w = both_in_whole_units(program, x, w)
        of_x, of_w = x, (w, w)
    else:
        if not suits(w):
            w = w.clone(memory_format=torch.contiguous_format)
        of_x, of_w = _copies(program, x), long_rows(w, order.period)
    beside = columns_of(tile, vocab, order) // tile.columns
    blocks = -(-rows // tile.rows) * beside * parts
    if parts == 1:
        most = BLOCKS_ACROSS if tile.across else 1
        blocks = min(blocks, most * program.multiprocessor_count)
    each = _PIECES_ACROSS if tile.across else parts
    pieces = torch.empty((rows, beside * each, 2), dtype=torch.float32, device=x.device)
    program.launch(
        *(name, blocks, tile.threads, tensor_map(of_x, (tile.rows, _STEP))),
        *(tensor_map(longer, (tile.columns, _STEP)) for longer in of_w),
        *(labels, pieces, at_label, rows, vocab, hidden, order.shift, order.unit),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return pieces


def long_rows(w: Tensor, period: int) -> tuple[Tensor, Tensor]:
    """So many rows of w as one: as far as the last one goes, and without that if it is cut."""
    vocab, hidden = w.shape
    whole, rest = divmod(vocab, period)
    without = w[: whole * period].view(whole, period * hidden)
    if not rest:
        return without, without
    return w.as_strided((whole + 1, rest * hidden), (period * hidden, 1)), without


def _copies(program: CudaProgram, x: Tensor) -> Tensor:
    """One above the other, each with rows of whole 16 bytes; x itself where that is all of them."""
    if is_whole(x):
        return x
    (rows, hidden), count = x.shape, copies_of(x.shape[1])
    furthest = _WORD - math.gcd(_WORD, hidden)
    units = -(-(hidden + furthest) // _LINE) * _LINE // _WORD
    copies = torch.empty((count * rows, units * _WORD), dtype=x.dtype, device=x.device)
    blocks = -(-count * rows * units // _THREADS)
    arguments = (x.contiguous(), copies, rows, hidden, units)
    program.launch("copies_of_rows", blocks, _THREADS, *arguments, overlaps=True)
    return copies
