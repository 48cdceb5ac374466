"""Launches few_rows.cuh: few rows of logits and their statistics, from rows of w that begin anywhere."""

import functools
import itertools
import math
from dataclasses import dataclass

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.loose_rows import FEW, few_rows_room

Tensor = torch.Tensor

_WARPS, _ROWS_OF_WARP, _WORDS_AT_ONCE = 16, 16, 4  # as in few_rows.cuh
LEAST_ROOM = 8  # for rows of x
_STEP = _WORDS_AT_ONCE * 32  # elements of hidden that a warp reads at once
_MOST_SHARED = 222 * 1024  # beside what blocks join their statistics in
_MOST_PARTS = 8  # of hidden: the sums of a row of x meet in one block
_X_AT_ONCE = 32  # elements of x that a thread brings at once
# About the times of a start, and of each 8 rows of x more; of elements of x or words of w that are read at
# once where memory is not what bounds it; of a warp's 16 rows times 8 of x and 32 elements of hidden, longer
# where x has several times 8; and, for each 8 rows of x, of what warps leave for each other and of logits of
# parts that a block joins at once. Fitted to 40 sizes on H200s.
_START_NS, _ROWS_NS, _X_NS, _WORDS_NS = 2000, 900, 700, 800
_SHIFTS_NS, _SHARING_NS, _PARTS_NS, _BYTES_PER_NS = 2.8, 800, 1200, 4300
_COLUMNS_AT_ONCE, _PARTS_AT_ONCE = 2048, 4  # of those, as in cuda_wgmma.cu
# Beside tiles, which hide more of memory's latency: for any w, and more for a large one, half of that for one
# of so many bytes.
_BESIDE_TILES_NS, _OF_LARGE_NS, _HALF_BYTES = 300, 5000, 6e6
# About the times of a launch more, of a copy of w, and of what is beside tiles.
_COPY_NS, _COPY_BYTES_PER_NS, BESIDE_NS = 1300, 3900, 2000


@dataclass(frozen=True, slots=True)
class Grid:
    """How blocks and their warps have w."""

    blocks: int  # along w
    at_once: int  # 16 rows of w each, of a block
    sharing: int  # warps that share those along hidden
    parts: int  # of hidden, of a block each
    columns: int  # of a part
    time_ns: float  # about, beyond what all kernels have in common


def room_of(rows: int, hidden: int) -> int | None:
    """The rows of x that a kernel has room for, which are so many or more; None where none has."""
    room = few_rows_room(rows) if rows <= FEW else None
    return room if room and hidden and _shared_bytes(room, hidden, sharing=1) <= _MOST_SHARED else None


@functools.lru_cache(maxsize=4096)
def grid_of(room: int, vocab: int, hidden: int, multiprocessors: int, most_parts: int = _MOST_PARTS) -> Grid:
    """The grid that takes least time, and of those alike the one of most blocks.

    Where w has few rows, warps share them along hidden, and so do blocks where one round has room for all.
    """
    units, groups = -(-vocab // (8 * _ROWS_OF_WARP)) * 8, room // 8
    w_bytes = 2 * vocab * hidden
    start_ns = _START_NS + _BESIDE_TILES_NS + (groups - 1) * _ROWS_NS
    start_ns += _OF_LARGE_NS * w_bytes / (w_bytes + _HALF_BYTES)
    grids: list[Grid] = []
    choices = ((at_once, sharing) for at_once in range(1, _WARPS + 1) for sharing in {1, _WARPS // at_once})
    for (at_once, sharing), parts in itertools.product(choices, range(1, most_parts + 1)):
        rounds = -(-units // (at_once * multiprocessors))
        blocks = -(-units // (at_once * rounds))
        columns = -(-hidden // parts)
        fits = parts == 1 or (rounds == 1 and blocks * parts <= multiprocessors)
        if not fits or _shared_bytes(room, columns, sharing) > _MOST_SHARED:
            continue
        x_ns = -(-_pitch(columns) * room // (_WARPS * 32 * _X_AT_ONCE)) * _X_NS
        words_ns = rounds * -(-columns // (_STEP * sharing)) * _WORDS_NS
        if sharing > 1:
            words_ns += rounds * _SHARING_NS * groups
        shifts_ns = rounds * at_once * columns / 32 * groups**2 * _SHIFTS_NS
        time_ns = start_ns + x_ns + math.hypot(words_ns, shifts_ns, w_bytes / _BYTES_PER_NS)
        if parts > 1:
            time_ns += -(-vocab // _COLUMNS_AT_ONCE) * -(-parts // _PARTS_AT_ONCE) * _PARTS_NS * groups
        grids.append(Grid(blocks, at_once, sharing, -(-hidden // columns), columns, time_ns))
    return min(grids, key=lambda grid: (grid.time_ns, -grid.blocks * grid.parts))


def copy_ns(vocab: int, hidden: int) -> float:
    """Of w, which tiles need where its rows are not of whole 16 bytes."""
    return _COPY_NS + 4 * vocab * hidden / _COPY_BYTES_PER_NS


def launch(
    program: CudaProgram,
    room: int,
    grid: Grid,
    x: Tensor,
    w: Tensor,
    labels: Tensor,
    logits: Tensor | None,
    at_label: Tensor | None,
) -> Tensor | None:
    """Fill ``logits``, (parts, vocab, room), and ``at_label``, what of them is wanted.

    Gives the pieces of each row, one of a block, where ``at_label`` is.
    """
    (rows, hidden), vocab = x.shape, len(w)
    pieces = None
    if at_label is not None:
        pieces = torch.empty((rows, grid.blocks, 2), dtype=torch.float32, device=x.device)
    given = [0 if one is None else one for one in (logits, pieces, at_label)]
    program.launch(
        *(f"logits_of_few_{room}", (grid.blocks, grid.parts, 1), _WARPS * 32),
        *(x.contiguous(), w.contiguous(), labels, *given, rows, vocab, hidden),
        *(grid.at_once, grid.sharing, grid.columns, _pitch(grid.columns)),
        shared_bytes=_shared_bytes(room, grid.columns, grid.sharing),
        overlaps=True,
    )
    return pieces


def _pitch(columns: int) -> int:
    """Elements from one row of x to the next in shared memory: no more than two lanes read the same bank."""
    pairs = (columns + 49) // 2
    return 2 * (pairs + (17 - pairs) % 32)


def _shared_bytes(room: int, columns: int, sharing: int) -> int:
    """Of x, and of the sums of warps that share."""
    return room * _pitch(columns) * 2 + (_WARPS * room // 8 * 4 * 32 * 4 if sharing > 1 else 0)
