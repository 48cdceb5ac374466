"""Launches residues.cuh: tiles of logits from rows of w that begin anywhere, without a copy of w."""

import math

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.shared.tile_times import Tile

Tensor = torch.Tensor

_STEP = 64  # elements of hidden in a stage
_WORD = 8  # elements of 16 bytes
_UNITS = 8  # words that rows of copies have a multiple of
_MOST_PLACES = 2**31  # in a long row, which 32 bits count
_THREADS = 256  # of a block that copies x
# About the times of a launch more, and of copies of x.
_COPY_NS, _COPY_BYTES_PER_NS = 1500, 2000


def suits(w: Tensor) -> bool:
    """Whether w begins where TMA can."""
    return w.is_contiguous() and w.data_ptr() % 16 == 0


def period_of(hidden: int) -> int:
    """From a row of w to the next that begins alike amid 16 bytes; x is copied for each of these places."""
    return _WORD // math.gcd(_WORD, hidden)


def takes(vocab: int, hidden: int) -> bool:
    """Whether rows begin at different places, which all appear, and long rows are none that are too long."""
    period = period_of(hidden)
    return 1 < period <= vocab and period * hidden < _MOST_PLACES


def columns_of(tile: Tile, vocab: int, period: int) -> int:
    """Of all tiles beside each other, the last ones of each residue's rows cut or not."""
    longest = math.ceil(vocab / period)
    return math.ceil(longest / tile.columns) * tile.columns * period


def copies_ns(rows: int, hidden: int) -> float:
    return _COPY_NS + 2 * period_of(hidden) * rows * hidden / _COPY_BYTES_PER_NS


def launch(
    program: CudaProgram,
    name: str,
    tile: Tile,
    parts: int,
    x: Tensor,
    w: Tensor,
    labels: Tensor,
    at_label: Tensor,
) -> Tensor:
    """The pieces of each row, of a tile or of a block's part of it."""
    (rows, hidden), vocab, period = x.shape, len(w), period_of(x.shape[1])
    if not suits(w):
        w = w.clone(memory_format=torch.contiguous_format)
    beside = columns_of(tile, vocab, period) // tile.columns
    blocks = -(-rows // tile.rows) * beside * parts
    if parts == 1:
        blocks = min(blocks, program.multiprocessor_count)
    pieces = torch.empty((rows, beside * parts, 2), dtype=torch.float32, device=x.device)
    program.launch(
        *(name, blocks, tile.threads, tensor_map(copies_of(program, x), (tile.rows, _STEP))),
        *(tensor_map(longer, (tile.columns, _STEP)) for longer in long_rows(w, period)),
        *(labels, pieces, at_label, rows, vocab, hidden, period.bit_length() - 1),
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


def copies_of(program: CudaProgram, x: Tensor) -> Tensor:
    """One above the other, each with rows of whole 16 bytes."""
    (rows, hidden), count = x.shape, period_of(x.shape[1])
    furthest = _WORD - math.gcd(_WORD, hidden)
    units = -(-(hidden + furthest) // (_UNITS * _WORD)) * _UNITS
    copies = torch.empty((count * rows, units * _WORD), dtype=x.dtype, device=x.device)
    blocks = -(-count * rows * units // _THREADS)
    arguments = (x.contiguous(), copies, rows, hidden, units)
    program.launch("copies_of_rows", blocks, _THREADS, *arguments, overlaps=True)
    return copies
