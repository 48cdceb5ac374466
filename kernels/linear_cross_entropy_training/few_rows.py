"""Launches few_powers.cuh and few_rows.cuh: a linear layer's loss and gradients of few rows."""

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.linear_cross_entropy_backward.products import BAND, STEP
from roofscope.kernels.shared.loose_ring import LooseTile, as_they_lie
from roofscope.kernels.shared.whole_rows import one_in_whole_units

Tensor = torch.Tensor

FEW = 256  # rows
_THREADS = 256
_UNIT = 8  # elements in 16 bytes
_TILE_ROWS, _TILE_COLUMNS, _STAGES = 128, 256, 4  # those of the products with d
_SHARED = _STAGES * ((_TILE_ROWS + _TILE_COLUMNS) * 128 + 2 * 8) + 2 * _TILE_ROWS * 128
_SMALL_TILE, _SMALL_PARTS, _SMALL_PIECE, _SMALL_STAGES = 64, 8, 8, 8  # as in few_powers.cuh
_SMALL_SHARED = _SMALL_STAGES * (2 * _SMALL_TILE * 128 + 2 * 8) + 2 * _SMALL_TILE * 128 + 8
_DX_COLUMNS, _DX_STAGES = 128, {16: 8, 32: 8, 64: 8, 128: 6, 256: 4}  # by rows, as in few_rows.cuh
_LOOSE_DX_STAGES = {16: 5, 32: 5, 64: 4, 128: 3, 256: 4}
LOOSE = {
    "loose_powers_1_64": LooseTile(64, 64, stages=6, steps=2),
    "loose_powers_1_128": LooseTile(64, 128, stages=4, steps=2),
    "loose_powers_2_128": LooseTile(128, 128, stages=6),
    "loose_powers_of_parts": LooseTile(64, 64, stages=6, steps=2),
}
_SHARES_TILES = ("powers_of_parts", "loose_powers_of_parts")
_LEAST_STEPS = 4  # of a part of dx
_COLUMNS_OF_BLOCK = 8192  # which a block makes d of at a time, as in weights.cuh
# About the time of a step where blocks have tiles alone, where eight share one, and of a tile besides.
_STEP_NS, _SMALL_STEP_NS, _TILE_NS = 500, 200, 2000


def is_small(rows: int, vocab: int, hidden: int, multiprocessors: int) -> bool:
    """Whether tiles are so few that the blocks of a cluster share each along hidden."""
    steps = -(-hidden // STEP)
    parts = -(-rows // _SMALL_TILE) * -(-vocab // _SMALL_TILE) * _SMALL_PARTS
    tiles = -(-rows // _TILE_ROWS) * -(-vocab // _TILE_COLUMNS)
    small_ns = -(-parts // multiprocessors) * (_TILE_NS + _SMALL_STEP_NS * -(-steps // _SMALL_PARTS))
    return small_ns < -(-tiles // multiprocessors) * (_TILE_NS + _STEP_NS * steps)


def run(
    program: CudaProgram,
    x: Tensor,
    w: Tensor,
    labels: Tensor,
    dloss: Tensor,
    outputs: tuple[Tensor, Tensor, Tensor],
    small: bool | None = None,
    loose: str | None = None,
) -> None:
    """Losses, dx and dw of at most FEW rows.

    Rows of x and w are of whole 16 bytes, and maybe longer; for a tile of LOOSE they begin anywhere.
    """
    loss, dx, dw = outputs
    (rows, hidden), vocab = dx.shape, len(w)
    if small is None:
        small = is_small(rows, vocab, hidden, program.multiprocessor_count)
    if loose:
        x, w = as_they_lie(x, w)
    name = loose or ("powers_of_parts" if small else "powers_of_few")
    d = _make_d(program, x, w, labels, dloss, loss, name)
    if loose:
        x = one_in_whole_units(program, x)
    make_gradients(program, d, x, w, dx, dw, is_loose=loose is not None)


def make_gradients(
    program: CudaProgram, d: Tensor, x: Tensor, w: Tensor, dx: Tensor, dw: Tensor, is_loose: bool = False
) -> None:
    """Make dx and dw of d; rows of x are of whole 16 bytes, and those of w unless it ``is_loose``."""
    _make_dx(program, d, w, dx, is_loose)
    _make_dw(program, d, x, dw)


def launch_tiles(program: CudaProgram, name: str, x: Tensor, w: Tensor, *rest: Argument) -> None:
    """A kernel whose blocks take tiles of the logits alone."""
    tiles = -(-len(x) // _TILE_ROWS) * -(-len(w) // _TILE_COLUMNS)
    program.launch(
        *(name, min(tiles, program.multiprocessor_count), 3 * 128),
        *(tensor_map(x, (_TILE_ROWS, STEP)), tensor_map(w, (_TILE_COLUMNS, STEP)), *rest),
        shared_bytes=_SHARED,
        overlaps=True,
    )


def _make_d(
    program: CudaProgram, x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor, loss: Tensor, name: str
) -> Tensor:
    """The gradient of the logits, and the losses, by the kernel of this name."""
    (rows, hidden), vocab = x.shape, len(w)
    is_shared = name in _SHARES_TILES
    tile = _SMALL_TILE if is_shared else LOOSE[name].columns if name in LOOSE else _TILE_COLUMNS
    piece = _SMALL_PIECE if is_shared else tile
    width = -(-vocab // tile) * tile
    d = torch.empty((rows, width), dtype=x.dtype, device=x.device)
    pieces = torch.empty((rows, width // piece, 2), dtype=torch.float32, device=x.device)
    at_label = torch.empty(rows, dtype=torch.float32, device=x.device)
    statistics = (labels, pieces, at_label, rows, vocab)
    if name == "powers_of_few":
        launch_tiles(program, name, x, w, tensor_map(d, (64, BAND)), *statistics, hidden)
    elif name == "powers_of_parts":
        blocks = -(-rows // _SMALL_TILE) * (width // _SMALL_TILE) * _SMALL_PARTS
        maps = tensor_map(x, (_SMALL_TILE, STEP)), tensor_map(w, (_SMALL_TILE, STEP))
        program.launch(
            *(name, blocks, 2 * 128, *maps, d, *statistics, hidden, width),
            shared_bytes=_SMALL_SHARED,
            overlaps=True,
        )
    else:
        loose = LOOSE[name]
        tiles = loose.count(rows, vocab)
        blocks = tiles * _SMALL_PARTS if is_shared else loose.blocks(tiles, program.multiprocessor_count)
        last = (
            (d, *statistics, hidden, width) if is_shared else (tensor_map(d, (64, BAND)), *statistics, hidden)
        )
        program.launch(
            *(name, blocks, loose.threads, x, w, *last),
            shared_bytes=loose.shared_bytes + 8,  # a barrier more
            overlaps=True,
        )
    blocks = -(-width // _COLUMNS_OF_BLOCK)
    program.launch(
        *("join_and_make_weights", rows * blocks, _THREADS, d, pieces, at_label, labels, dloss, loss),
        *(vocab, width, width // piece, blocks, piece.bit_length() - 1),
        overlaps=True,
    )
    return d


def _make_dx(
    program: CudaProgram, d: Tensor, w: Tensor, dx: Tensor, is_loose: bool, most_parts: int | None = None
) -> None:
    """By blocks that have some columns, and a part of the vocabulary.

    There are as many parts as give each multiprocessor a block, or ``most_parts``.
    """
    rows, hidden = dx.shape
    room = next(room for room in _DX_STAGES if rows <= room)
    subs = (1 if room > 128 else 2) if is_loose else 1  # 64 of the vocabulary in a step
    columns, steps = -(-hidden // _DX_COLUMNS), -(-len(w) // (STEP * subs))
    most_parts = most_parts or program.multiprocessor_count // columns
    count = max(min(most_parts, steps * subs // _LEAST_STEPS, steps), 1)
    parts = torch.empty((count, rows, hidden), dtype=torch.float32, device=dx.device)
    of_d = tensor_map(d, (room, STEP))
    if is_loose:
        program.launch(
            *(f"loose_dx_of_few_{room}", (columns, count, 1), (_DX_COLUMNS // 64 + subs) * 128),
            *(of_d, w, parts, rows, hidden, steps, len(w)),
            shared_bytes=_LOOSE_DX_STAGES[room] * ((_DX_COLUMNS + room) * 128 * subs + 2 * 8),
            overlaps=True,
        )
    else:
        program.launch(
            *(f"dx_of_few_{room}", (columns, count, 1), (_DX_COLUMNS // 64 + 1) * 128),
            *(of_d, tensor_map(w, (STEP, BAND)), parts, rows, hidden, steps),
            shared_bytes=_DX_STAGES[room] * ((_DX_COLUMNS + room) * 128 + 2 * 8),
            overlaps=True,
        )
    size = rows * hidden
    program.launch("join_dx", -(-size // _THREADS), _THREADS, parts, dx, size, count, overlaps=True)


def _make_dw(program: CudaProgram, d: Tensor, x: Tensor, dw: Tensor) -> None:
    rows, (vocab, hidden) = len(d), dw.shape
    columns = -(-hidden // _TILE_COLUMNS)
    tiles = -(-vocab // _TILE_ROWS) * columns
    of_d = tensor_map(d, (STEP, BAND))
    by_threads = hidden % _UNIT != 0 or dw.data_ptr() % 16 != 0  # then threads store, and the map is not used
    program.launch(
        *("dw_of_few", min(tiles, program.multiprocessor_count), 3 * 128, of_d, tensor_map(x, (STEP, BAND))),
        *(of_d if by_threads else tensor_map(dw, (64, BAND)), dw if by_threads else 0),
        *(rows, vocab, hidden, tiles, columns),
        shared_bytes=_SHARED,
        overlaps=True,
    )
