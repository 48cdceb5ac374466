"""Launches few_powers.cuh and few_rows.cuh: a linear layer's loss and gradients of few rows."""

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.linear_cross_entropy_backward.products import BAND, STEP

Tensor = torch.Tensor

FEW = 256  # rows
_THREADS = 256
_UNIT = 8  # elements in 16 bytes
_TILE_ROWS, _TILE_COLUMNS, _STAGES = 128, 256, 4  # those of the products with d
_SHARED = _STAGES * ((_TILE_ROWS + _TILE_COLUMNS) * 128 + 2 * 8) + 2 * _TILE_ROWS * 128
_SMALL_TILE, _SMALL_PARTS, _SMALL_PIECE, _SMALL_STAGES = 64, 8, 8, 8  # as in few_powers.cuh
_SMALL_SHARED = _SMALL_STAGES * (2 * _SMALL_TILE * 128 + 2 * 8) + 2 * _SMALL_TILE * 128 + 8
_DX_COLUMNS, _DX_STAGES = 128, {16: 8, 32: 8, 64: 8, 128: 6, 256: 4}  # by rows, as in few_rows.cuh
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
) -> None:
    """Losses, dx and dw of at most FEW rows. Those of x and w are of whole 16 bytes, and maybe longer."""
    loss, dx, dw = outputs
    (rows, hidden), vocab, multiprocessors = dx.shape, len(w), program.multiprocessor_count
    if small is None:
        small = is_small(rows, vocab, hidden, multiprocessors)
    d = _make_d(program, x, w, labels, dloss, loss, small)
    _make_dx(program, d, w, dx)
    columns = -(-hidden // _TILE_COLUMNS)
    tiles = -(-vocab // _TILE_ROWS) * columns
    of_d = tensor_map(d, (STEP, BAND))
    is_loose = hidden % _UNIT != 0 or dw.data_ptr() % 16 != 0  # then threads store, and the map is not used
    program.launch(
        *("dw_of_few", min(tiles, multiprocessors), 3 * 128, of_d, tensor_map(x, (STEP, BAND))),
        *(of_d if is_loose else tensor_map(dw, (64, BAND)), dw if is_loose else 0),
        *(rows, vocab, hidden, tiles, columns),
        shared_bytes=_SHARED,
        overlaps=True,
    )


def _make_d(
    program: CudaProgram, x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor, loss: Tensor, small: bool
) -> Tensor:
    """The gradient of the logits, and the losses."""
    (rows, hidden), vocab = x.shape, len(w)
    tile, piece = (_SMALL_TILE, _SMALL_PIECE) if small else (_TILE_COLUMNS, _TILE_COLUMNS)
    width = -(-vocab // tile) * tile
    d = torch.empty((rows, width), dtype=x.dtype, device=x.device)
    pieces = torch.empty((rows, width // piece, 2), dtype=torch.float32, device=x.device)
    at_label = torch.empty(rows, dtype=torch.float32, device=x.device)
    if small:
        blocks = -(-rows // _SMALL_TILE) * (width // _SMALL_TILE) * _SMALL_PARTS
        maps = tensor_map(x, (_SMALL_TILE, STEP)), tensor_map(w, (_SMALL_TILE, STEP))
        program.launch(
            *("powers_of_parts", blocks, 2 * 128, *maps, d, labels, pieces, at_label),
            *(rows, vocab, hidden, width),
            shared_bytes=_SMALL_SHARED,
            overlaps=True,
        )
    else:
        blocks = min(-(-rows // _TILE_ROWS) * (width // _TILE_COLUMNS), program.multiprocessor_count)
        maps = tensor_map(x, (_TILE_ROWS, STEP)), tensor_map(w, (_TILE_COLUMNS, STEP))
        program.launch(
            *("powers_of_few", blocks, 3 * 128, *maps, tensor_map(d, (64, BAND)), labels, pieces, at_label),
            *(rows, vocab, hidden),
            shared_bytes=_SHARED,
            overlaps=True,
        )
    blocks = -(-width // _COLUMNS_OF_BLOCK)
    program.launch(
        *("join_and_make_weights", rows * blocks, _THREADS, d, pieces, at_label, labels, dloss, loss),
        *(vocab, width, width // piece, blocks, piece.bit_length() - 1),
        overlaps=True,
    )
    return d


def _make_dx(program: CudaProgram, d: Tensor, w: Tensor, dx: Tensor) -> None:
    """By blocks that have some columns, and a part of the vocabulary."""
    rows, hidden = dx.shape
    room = next(room for room in _DX_STAGES if rows <= room)
    columns, steps = -(-hidden // _DX_COLUMNS), -(-len(w) // STEP)
    count = max(min(program.multiprocessor_count // columns, steps // _LEAST_STEPS), 1)
    parts = torch.empty((count, rows, hidden), dtype=torch.float32, device=dx.device)
    program.launch(
        *(f"dx_of_few_{room}", (columns, count, 1), (_DX_COLUMNS // 64 + 1) * 128),
        *(tensor_map(d, (room, STEP)), tensor_map(w, (STEP, BAND)), parts, rows, hidden, steps),
        shared_bytes=_DX_STAGES[room] * ((_DX_COLUMNS + room) * 128 + 2 * 8),
        overlaps=True,
    )
    size = rows * hidden
    program.launch("join_dx", -(-size // _THREADS), _THREADS, parts, dx, size, count, overlaps=True)
