"""Launches small_weights.cuh: the statistics of up to eight rows of logits from a small w."""

import torch

from roofscope import CudaProgram

Tensor = torch.Tensor

_ROOMS = (1, 2, 4, 8)  # for rows of x, a kernel each
_WARPS = 8  # of a block, a row of w each at a time, as in small_weights.cuh
_BLOCKS = 2  # of a multiprocessor: a row of x has a piece of each, which one warp joins
# About the times of a start, of a row of w beside its elements, of elements that a lane has under way at
# once, for each row of x more; and of an element for itself and each row of x, all of them together.
_START_NS, _ROW_NS, _REACH_NS, _REACH_OF_ROW_NS, _ELEMENT_NS = 1740, 220, 510, 29, 0.00044


def room_of(rows: int) -> int | None:
    """The rows of x that a kernel has room for, which are so many or more; None where none has."""
    return next((room for room in _ROOMS if rows <= room), None)


def blocks_of(vocab: int, multiprocessors: int) -> int:
    return min(-(-vocab // _WARPS), _BLOCKS * multiprocessors)


def time_ns(room: int, vocab: int, hidden: int, multiprocessors: int) -> float:
    """Of the kernel, as few_rows.py counts it."""
    rounds = -(-vocab // (_WARPS * blocks_of(vocab, multiprocessors)))
    reaches = -(-hidden // (32 * (8 if room <= 2 else 4)))
    each_ns = reaches * (_REACH_NS + _REACH_OF_ROW_NS * room) + _ROW_NS
    return _START_NS + rounds * each_ns + vocab * hidden * (1 + room) * _ELEMENT_NS


def launch(program: CudaProgram, x: Tensor, w: Tensor, labels: Tensor, at_label: Tensor) -> Tensor:
    """The pieces of each row, one of a block."""
    (rows, hidden), vocab = x.shape, len(w)
    blocks = blocks_of(vocab, program.multiprocessor_count)
    pieces = torch.empty((rows, blocks, 2), dtype=torch.float32, device=x.device)
    program.launch(
        *(f"small_weights_{room_of(rows)}", blocks, _WARPS * 32),
        *(x.contiguous(), w.contiguous(), labels, pieces, at_label, rows, vocab, hidden),
        overlaps=True,
    )
    return pieces
