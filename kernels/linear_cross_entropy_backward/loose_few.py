"""Launches loose_few.cuh: gradients of few rows, and their losses, from rows of w that begin anywhere."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.linear_cross_entropy import few_rows
from roofscope.kernels.linear_cross_entropy_backward.few_rows import times_of_logits
from roofscope.kernels.shared.loose_rows import (
    LOOSE_COLUMNS,
    ROWS_OF_STEP,
    few_rows_cluster,
    multiply_ordered_rows,
    room_for_ordered,
)
from roofscope.kernels.shared.tile_times import most_blocks
from roofscope.kernels.shared.whole_rows import is_whole

Tensor = torch.Tensor

_THREADS = 256
_DW_WARPS, _DW_WIDTH = 8, 32  # of a block; elements of dw of a warp, as in loose_few.cuh
_DW_ROWS = 16  # of dw that a warp takes at a time
_APART = 16  # rows of dw that begin alike in a sector of L2
_DW_START_STEPS = 4  # that a block's start takes
_MOST_ROUNDS = 8  # of blocks that make dw
_BLOCKS_OF_DW = {8: 3, 16: 3, 32: 2}  # of a multiprocessor at once, by the room for rows
_LEAST_HIDDEN = 4  # times the room, so _DW_WIDTH or more: else copying w takes less than what logits leave
_LEAST_STEPS = 2  # of a block that has a part of the vocabulary
_LINE = 128  # bytes
# Of w whose parts of dx are worth another launch: blocks of a cluster wait for each other.
_LEAST_PARTS_BYTES = 3 * 2**20


def takes(x: Tensor, w: Tensor, multiprocessors: int) -> bool:
    """Whether the kernels have room for x, and w, of enough columns, would be copied for others.

    Where logits from a copy are there sooner, the gradients are too. For very few rows also where those of w
    are whole and begin amid lines.
    """
    (rows, hidden), vocab = x.shape, len(w)
    room = few_rows.room_of(rows, hidden)
    if not w.numel() or room is None or hidden < _LEAST_HIDDEN * room:
        return False
    copied_ns = min(times_of_logits(rows, vocab, hidden, multiprocessors))
    if not is_whole(w):
        copied_ns += few_rows.copy_ns(vocab, hidden)
    elif room > few_rows.LEAST_ROOM or hidden * w.element_size() % _LINE == 0:
        return False
    grid = few_rows.grid_of(room, vocab, hidden, multiprocessors, most_parts=1)
    return grid.time_ns < copied_ns + few_rows.BESIDE_NS


def run(
    program: CudaProgram,
    x: Tensor,
    w: Tensor,
    labels: Tensor,
    dloss: Tensor,
    loss_or_lse: tuple[Tensor, None] | tuple[None, Tensor],
) -> tuple[Tensor, Tensor]:
    """Gives dx and dw; either fills the losses, or has the logarithms of the rows' sums."""
    x, w = x.contiguous(), w.contiguous()
    (rows, hidden), vocab = x.shape, len(w)
    room = few_rows.room_of(rows, hidden)
    assert room is not None
    loss, lse = loss_or_lse
    grid = few_rows.grid_of(room, vocab, hidden, program.multiprocessor_count, most_parts=1)
    logits = torch.empty((vocab, room), dtype=torch.float32, device=x.device)
    at_label = None if loss is None else torch.empty(rows, dtype=torch.float32, device=x.device)
    pieces = few_rows.launch(program, room, grid, x, w, labels, logits, at_label)
    ordered, across = (
        room_for_ordered(rows, vocab, x),
        torch.empty((vocab, room), dtype=x.dtype, device=x.device),
    )
    given = [0 if one is None else one for one in (pieces, at_label, lse)]
    program.launch(
        *("gradient_of_few", -(-len(ordered) // _THREADS), _THREADS, logits, *given, labels, dloss),
        *(0 if loss is None else loss, ordered, across, grid.blocks, rows, vocab, room),
        overlaps=True,
    )
    return _make_dx(program, ordered, x, w), _make_dw(program, across, x, w)


def parts_of_vocabulary(rows: int, vocab: int, hidden: int, multiprocessors: int) -> tuple[int, int]:
    """Blocks of a cluster, and parts of the vocabulary, which few columns of dx leave room for."""
    cluster = few_rows_cluster(rows, hidden, vocab, LOOSE_COLUMNS, multiprocessors)
    columns, steps = -(-hidden // LOOSE_COLUMNS), -(-vocab // ROWS_OF_STEP)
    room_for = most_blocks(cluster, multiprocessors)
    at_once = room_for * (1 if rows > 16 else 2) // (columns * cluster)
    parts = max(min(at_once, steps // (_LEAST_STEPS * cluster)), 1)
    return (1, cluster * parts) if parts > 1 or 2 * vocab * hidden >= _LEAST_PARTS_BYTES else (cluster, parts)


def _make_dx(program: CudaProgram, ordered: Tensor, x: Tensor, w: Tensor) -> Tensor:
    (rows, hidden), vocab = x.shape, len(w)
    cluster, parts = parts_of_vocabulary(rows, vocab, hidden, program.multiprocessor_count)
    if parts == 1:
        return multiply_ordered_rows(program, rows, ordered, w, x.dtype, cluster=cluster)
    several = multiply_ordered_rows(
        program, rows, ordered, w, torch.float32, cluster=cluster, parts=parts, name="parts_of_few"
    )
    dx, size = torch.empty_like(x), rows * hidden
    program.launch("join_dx", -(-size // _THREADS), _THREADS, several, dx, size, parts, overlaps=True)
    return dx


def grid_of_dw(room: int, vocab: int, hidden: int, multiprocessors: int) -> tuple[int, int]:
    """Blocks along the rows up to the next that a warp has, and blocks that share the vocabulary."""
    along, steps = -(-_APART * hidden // (_DW_WARPS * _DW_WIDTH)), -(-vocab // (_DW_ROWS * _APART))
    at_once = _BLOCKS_OF_DW[room] * multiprocessors

    def time(shares: int) -> int:
        return -(-along * shares // at_once) * (-(-steps // shares) + _DW_START_STEPS)

    most = max(min(steps, _MOST_ROUNDS * at_once // along), 1)
    return along, min(range(1, most + 1), key=time)


def _make_dw(program: CudaProgram, across: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """Of d with its rows side by side."""
    dw, room = torch.empty_like(w), across.shape[1]
    vocab, hidden = w.shape
    along, shares = grid_of_dw(room, vocab, hidden, program.multiprocessor_count)
    program.launch(
        *(f"loose_dw_{room}", (along, shares, 1), _DW_WARPS * 32),
        *(across, x, dw, len(x), vocab, hidden, _APART),
        overlaps=True,
    )
    return dw
