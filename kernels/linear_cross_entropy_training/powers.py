"""The gradient of logits without a sample of their rows: which tiles make the powers, and what follows."""

import functools

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.linear_cross_entropy_backward import few_rows, residues
from roofscope.kernels.linear_cross_entropy_backward.products import BAND, SMALL_TILE, STEP, SURELY, TILE

Tensor = torch.Tensor

# Of kernels whose tiles are computed by as many blocks as there are, or as multiprocessors.
TILES = {
    "powers_of_tiles": TILE,
    "powers_of_few": few_rows.TILE,
    "powers_of_small_tiles": SMALL_TILE,
}
PARTS = "powers_of_parts"  # small tiles, each by the blocks of a cluster
_THREADS = 256
_COLUMNS_OF_BLOCK = 8192  # which a block makes d of at a time, as in weights.cuh
# And a warp, which has a row of no more, or of so many times that where rows are many.
_COLUMNS_OF_WARP, _MOST_OF_WARP, _MANY_ROWS = 1024, 4, 1024


@functools.lru_cache(maxsize=4096)
def choose(rows: int, vocab: int, hidden: int, multiprocessors: int) -> str:
    """The kernel of least time. Large tiles need fewer bytes a FLOP, small ones fill more units.

    Rows that a pair of tiles has beside each other are few enough for tiles alone.
    """
    few_ns, small_ns, parts_ns = few_rows.times_of_logits(rows, vocab, hidden, multiprocessors)
    times = {"powers_of_small_tiles": small_ns, PARTS: parts_ns}
    if rows <= few_rows.FEW:
        times["powers_of_few"] = few_ns / SURELY
    else:
        pairs, *_ = TILE.plans(rows, vocab, -(-hidden // STEP), multiprocessors)
        times["powers_of_tiles"] = pairs.time_ns / SURELY
    return min(times, key=lambda name: times[name])


def make_d(
    program: CudaProgram, x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor, loss: Tensor, d: Tensor
) -> None:
    """The gradient of the logits, in d, whose rows are whole small tiles, and the losses."""
    (rows, hidden), vocab, width = x.shape, len(w), d.shape[1]
    name = choose(rows, vocab, hidden, program.multiprocessor_count)
    at_label = torch.empty(rows, dtype=torch.float32, device=x.device)
    piece = few_rows.COLUMNS_OF_PART if name == PARTS else TILES[name].columns
    count = -(-width // piece)
    pieces = torch.empty((rows, count, 2), dtype=torch.float32, device=x.device)
    if name in {"powers_of_tiles", "powers_of_small_tiles"}:
        make_of_tiles(program, name, x, w, d, labels, 0, pieces, at_label)
    else:
        few_rows.make_of_logits(program, "powers", name == PARTS, x, w, d, labels, pieces, at_label)
    _join(program, d, pieces, at_label, labels, dloss, loss, vocab, piece)


def make_d_of_residues(
    program: CudaProgram, x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor, loss: Tensor
) -> tuple[residues.Order, Tensor, Tensor]:
    """The same from rows of w that begin anywhere: d, how its columns lie, and copies of x."""
    order = residues.order_of(x, w)
    count = order.width // order.columns
    pieces = torch.empty((len(x), count, 2), dtype=torch.float32, device=x.device)
    at_label = torch.empty(len(x), dtype=torch.float32, device=x.device)
    copies, d = residues.make_of_logits(program, "powers", order, x, w, labels, pieces, at_label)
    _join(program, d, pieces, at_label, labels, dloss, loss, order.vocab, order.columns, order.numbers)
    return order, copies, d


def _join(
    program: CudaProgram,
    d: Tensor,
    pieces: Tensor,
    at_label: Tensor,
    labels: Tensor,
    dloss: Tensor,
    loss: Tensor,
    vocab: int,
    piece: int,
    order: tuple[int, int] = (0, 0),
) -> None:
    """The losses, and d of the powers in it, of pieces of so many columns."""
    rows, width = d.shape
    blocks = -(-width // _COLUMNS_OF_BLOCK)
    kernel, grid = "join_and_make_weights", rows * blocks
    if by_warps(rows, width):
        kernel, grid = "join_and_make_short", -(-rows * 32 // _THREADS)
    program.launch(
        *(kernel, grid, _THREADS, d, pieces, at_label, labels, dloss, loss),
        *(rows, vocab, width, pieces.shape[1], blocks, piece.bit_length() - 1, *order),
        overlaps=True,
    )


def by_warps(rows: int, width: int) -> bool:
    """Whether a warp makes d of a row: most of a block would wait for nothing."""
    return width <= _COLUMNS_OF_WARP * (_MOST_OF_WARP if rows >= _MANY_ROWS else 1)


def make_of_tiles(
    program: CudaProgram,
    name: str,
    x: Tensor,
    w: Tensor,
    d: Tensor,
    labels: Tensor,
    maxima: Tensor | int,
    pieces: Tensor,
    at_label: Tensor,
) -> None:
    """The powers, in d, by the kernel of this name, with the maxima of a sample if there are any."""
    tile, (rows, hidden), vocab = TILES[name], x.shape, len(w)
    of_x, of_w = tensor_map(x, (tile.rows, STEP)), tensor_map(w, (tile.columns // tile.cluster, STEP))
    program.launch(
        *(name, tile.plan(rows, vocab, 1, program.multiprocessor_count).blocks, tile.threads),
        *(of_x, of_w, tensor_map(d, (64, BAND)), labels, maxima, pieces, at_label, rows, vocab, hidden),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
