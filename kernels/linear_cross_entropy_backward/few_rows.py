"""Launches few_rows.cuh: gradients of few rows, and the kernels of tiles of their logits."""

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.linear_cross_entropy_backward.products import BAND, STEP

Tensor = torch.Tensor

FEW = 256  # rows
_THREADS = 256
_UNIT = 8  # elements in 16 bytes
_TILE_ROWS, _TILE_COLUMNS, _STAGES = 128, 256, 4  # those of the products with d
_SHARED = _STAGES * ((_TILE_ROWS + _TILE_COLUMNS) * 128 + 2 * 8) + 2 * _TILE_ROWS * 128
_SMALL_TILE, _SMALL_PARTS, _SMALL_STAGES = 64, 8, 8  # as in few_rows.cuh
_SMALL_SHARED = _SMALL_STAGES * (2 * _SMALL_TILE * 128 + 2 * 8) + 2 * _SMALL_TILE * 128 + 8
_DX_COLUMNS, _DX_STAGES = 128, {16: 8, 32: 8, 64: 8, 128: 6, 256: 4}  # by rows, as in few_rows.cuh
_LEAST_STEPS = 4  # of a part of dx
# About the time of a step where blocks have tiles alone, where eight share one, and of a tile besides.
_STEP_NS, _SMALL_STEP_NS, _TILE_NS = 500, 200, 2000


def is_small(rows: int, vocab: int, hidden: int, multiprocessors: int) -> bool:
    """Whether tiles are so few that the blocks of a cluster share each along hidden."""
    steps = -(-hidden // STEP)
    parts = -(-rows // _SMALL_TILE) * -(-vocab // _SMALL_TILE) * _SMALL_PARTS
    tiles = -(-rows // _TILE_ROWS) * -(-vocab // _TILE_COLUMNS)
    small_ns = -(-parts // multiprocessors) * (_TILE_NS + _SMALL_STEP_NS * -(-steps // _SMALL_PARTS))
    return small_ns < -(-tiles // multiprocessors) * (_TILE_NS + _STEP_NS * steps)


def room_for_d(x: Tensor, vocab: int, small: bool) -> tuple[Tensor, int]:
    """Room for d in whole tiles, and how many columns of it a block has at a time."""
    tile = _SMALL_TILE if small else _TILE_COLUMNS
    d = torch.empty((len(x), -(-vocab // tile) * tile), dtype=x.dtype, device=x.device)
    return d, _SMALL_TILE // _SMALL_PARTS if small else _TILE_COLUMNS


def make_of_logits(
    program: CudaProgram, name: str, small: bool, x: Tensor, w: Tensor, d: Tensor, *statistics: Argument
) -> None:
    """What the kernels ``name``_of_parts, if ``small``, or _of_few make of the logits, in d.

    Rows of x and w are of whole 16 bytes, and maybe longer.
    """
    (rows, hidden), vocab, width = x.shape, len(w), d.shape[1]
    row_tile, column_tile = (_SMALL_TILE, _SMALL_TILE) if small else (_TILE_ROWS, _TILE_COLUMNS)
    tiles = -(-rows // row_tile) * (width // column_tile)
    maps = tensor_map(x, (row_tile, STEP)), tensor_map(w, (column_tile, STEP))
    if small:
        program.launch(
            *(f"{name}_of_parts", tiles * _SMALL_PARTS, 2 * 128, *maps, d, *statistics),
            *(rows, vocab, hidden, width),
            shared_bytes=_SMALL_SHARED,
            overlaps=True,
        )
    else:
        blocks = min(tiles, program.multiprocessor_count)
        program.launch(
            *(f"{name}_of_few", blocks, 3 * 128, *maps, tensor_map(d, (64, BAND)), *statistics),
            *(rows, vocab, hidden),
            shared_bytes=_SHARED,
            overlaps=True,
        )


def make_gradients(program: CudaProgram, d: Tensor, x: Tensor, w: Tensor, dx: Tensor, dw: Tensor) -> None:
    """Make dx = d w and dw = d^T x. Rows of x and w are of whole 16 bytes, and maybe longer."""
    if dx.numel():
        _make_dx(program, d, w, dx)
        _make_dw(program, d, x, dw)


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


def _make_dw(program: CudaProgram, d: Tensor, x: Tensor, dw: Tensor) -> None:
    rows, (vocab, hidden) = len(d), dw.shape
    columns = -(-hidden // _TILE_COLUMNS)
    tiles = -(-vocab // _TILE_ROWS) * columns
    of_d = tensor_map(d, (STEP, BAND))
    is_loose = hidden % _UNIT != 0 or dw.data_ptr() % 16 != 0  # then threads store, and the map is not used
    program.launch(
        *("dw_of_few", min(tiles, program.multiprocessor_count), 3 * 128, of_d, tensor_map(x, (STEP, BAND))),
        *(of_d if is_loose else tensor_map(dw, (64, BAND)), dw if is_loose else 0),
        *(rows, vocab, hidden, tiles, columns),
        shared_bytes=_SHARED,
        overlaps=True,
    )
