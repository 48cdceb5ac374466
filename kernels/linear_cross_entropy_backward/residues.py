"""Launches residues.cuh: gradients of few rows from rows of w that begin anywhere, without a copy of w."""

import math
from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.linear_cross_entropy.residues import copies_of, long_rows, period_of, suits
from roofscope.kernels.linear_cross_entropy.residues import takes as takes_long_rows
from roofscope.kernels.linear_cross_entropy_backward import few_rows, loose_few
from roofscope.kernels.linear_cross_entropy_backward.products import BAND, STEP
from roofscope.kernels.shared.tile_times import ROW, Tile
from roofscope.kernels.shared.wgmma_plans import TILES

Tensor = torch.Tensor

_WORD = 8  # elements of 16 bytes
_THREADS = 256
_DX_COLUMNS, _DX_STAGES = 128, {16: 6, 32: 5, 64: 4, 128: 6, 256: 4}  # by room for rows, as in residues.cuh
_DW_COLUMNS, _DW_ROWS, _DW_STAGES = 256, 128, 4  # of a tile across, as in residues.cuh
_LEAST_ROWS, _LEAST_HIDDEN, _LEAST_VOCAB = 9, 128, 2500
_LEAST_BYTES = 10 * 10**6  # of w
_VERY_FEW, _LONG = 16, 2000  # so many rows of x need longer ones of w where loose_few.cuh has them too
_PAIRED = 64  # most rows of x for which a multiprocessor has two blocks of dx
_LEAST_ROWS_OF_PART = 256  # of a residue, of w


@dataclass(frozen=True)
class Order:
    """How columns of d lie: residue by residue of their numbers, each with whole tiles."""

    vocab: int
    hidden: int
    columns: int  # of a tile

    @property
    def period(self) -> int:
        return period_of(self.hidden)

    @property
    def shift(self) -> int:
        return self.period.bit_length() - 1

    @property
    def longest(self) -> int:
        """Most rows of w that a residue has."""
        return -(-self.vocab // self.period)

    @property
    def stride(self) -> int:
        """Columns of d from a residue to the next."""
        return -(-self.longest // self.columns) * self.columns

    @property
    def width(self) -> int:
        return self.stride * self.period

    @property
    def numbers(self) -> tuple[int, int]:
        """That kernels ask for."""
        return self.shift, self.stride

    def across(self, columns: int) -> int:
        """Blocks of so many columns that a row of w may reach across."""
        return -(-(self.hidden + _WORD - math.gcd(_WORD, self.hidden)) // columns)


def tile_of(rows: int) -> Tile:
    """Of logits."""
    return TILES["tile_64x128" if rows <= 64 else "tile_128x128"]


def takes(x: Tensor, w: Tensor, multiprocessors: int) -> bool:
    """Whether rows of w begin anywhere, and neither a copy of w nor loose_few.cuh is there sooner.

    What is in front of rows and behind is cleared in each tile, which short rows pay for, and residues with
    few rows of w leave tiles empty.
    """
    (rows, hidden), vocab = x.shape, len(w)
    if not (_LEAST_ROWS <= rows <= few_rows.FEW and takes_long_rows(vocab, hidden) and suits(w)):
        return False
    if hidden < _LEAST_HIDDEN or vocab < _LEAST_VOCAB or 2 * vocab * hidden < _LEAST_BYTES:
        return False
    return rows > _VERY_FEW or hidden >= _LONG or not loose_few.takes(x, w, multiprocessors)


def order_of(x: Tensor, w: Tensor) -> Order:
    return Order(len(w), x.shape[1], tile_of(len(x)).columns)


def make_of_logits(
    program: CudaProgram, name: str, order: Order, x: Tensor, w: Tensor, *statistics: Argument
) -> tuple[Tensor, Tensor]:
    """Copies of x, and what the kernels ``name``_of_residues make of the logits, d."""
    rows, tile = len(x), tile_of(len(x))
    copies = copies_of(program, x)
    d = torch.empty((rows, order.width), dtype=x.dtype, device=x.device)
    tiles = -(-rows // tile.rows) * (order.width // tile.columns)
    program.launch(
        f"{name}_of_residues_{tile.rows}x{tile.columns}",
        *(min(tiles, program.multiprocessor_count), tile.threads, tensor_map(copies, (tile.rows, STEP))),
        *(tensor_map(longer, (tile.columns, STEP)) for longer in long_rows(w, order.period)),
        *(tensor_map(d, (64, BAND)), *statistics, rows, order.vocab, order.hidden, *order.numbers),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return copies, d


def make_gradients(
    program: CudaProgram, order: Order, copies: Tensor, d: Tensor, x: Tensor, w: Tensor
) -> tuple[Tensor, Tensor]:
    """Gives dx = d w and dw = d^T x. The first copy of x has nothing in front of its rows."""
    return _make_dx(program, order, d, x, w), _make_dw(program, order, d, copies[: len(x)], w)


def parts_of_dx(rows: int, order: Order, multiprocessors: int) -> tuple[int, int, int]:
    """Room for rows, blocks beside each other, and parts of each residue's rows of w."""
    room = next(room for room in _DX_STAGES if rows <= room)
    columns = order.across(_DX_COLUMNS)
    beside = columns * order.period
    fill = multiprocessors // beside
    if room <= _PAIRED:  # rather a second block here and there than many multiprocessors without one
        fill = max(fill, -(-multiprocessors * 7 // (10 * beside)))
    return room, columns, max(min(fill, order.longest // _LEAST_ROWS_OF_PART), 1)


def _make_dx(program: CudaProgram, order: Order, d: Tensor, x: Tensor, w: Tensor) -> Tensor:
    rows, hidden = x.shape
    room, columns, parts = parts_of_dx(rows, order, program.multiprocessor_count)
    count = parts * order.period
    several = torch.empty((count, rows, hidden), dtype=torch.float32, device=x.device)
    program.launch(
        *(f"dx_of_residues_{room}", (columns, count, 1), (_DX_COLUMNS // 64 + 1) * 128),
        tensor_map(d, (room, STEP)),
        *(tensor_map(longer, (STEP, BAND)) for longer in long_rows(w, order.period)),
        *(several, rows, hidden, order.vocab, *order.numbers),
        shared_bytes=_DX_STAGES[room] * ((_DX_COLUMNS + room) * ROW + 2 * 8),
        overlaps=True,
    )
    dx, size = torch.empty_like(x, memory_format=torch.contiguous_format), rows * hidden
    program.launch("join_dx", -(-size // _THREADS), _THREADS, several, dx, size, count, overlaps=True)
    return dx


def _make_dw(program: CudaProgram, order: Order, d: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """``x`` in rows of whole 16 bytes, behind each other."""
    rows, dw = len(d), torch.empty_like(w)
    columns = -(-order.hidden // _DW_COLUMNS)
    count = columns * order.period * -(-order.longest // _DW_ROWS)
    program.launch(
        *("dw_of_residues", min(count, program.multiprocessor_count), (_DW_COLUMNS // 64 + 1) * 128),
        *(tensor_map(d, (STEP, BAND)), tensor_map(x, (STEP, BAND)), dw),
        *(rows, order.vocab, order.hidden, *order.numbers, count, columns),
        shared_bytes=_DW_STAGES * ((_DW_COLUMNS + _DW_ROWS) * ROW + 2 * 8) + 2 * 16 * (_DW_COLUMNS * 2 + 16),
        overlaps=True,
    )
    return dw
