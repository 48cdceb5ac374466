"""A linear layer's cross-entropy and its gradients in Triton, with each logit made once.

Formula: loss[r] = lse[r] - x[r] . w[label[r]], lse[r] = log(sum_c exp(x[r] . w[c]));
d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])); dx = d w, dw = d^T x; 6 rows vocab hidden
FLOP.
Mapping: for as many rows at a time as have room a persistent grid makes tiles of logits, as
linear_cross_entropy/triton_persistent_tma does, and leaves their powers in 16 bits, relative to the maximum
of a row in its tile, with that maximum and the sum. A program a row joins them, others make d of the powers
where they lie, 16 tiles of a row each. The two products are those of
linear_cross_entropy_backward/triton_chunks; what dw has of the rows so far is kept in float32. Compute
capability 9.0 and later.
Idea: cuda_naive keeps the logits, in float32, and makes d of them in two more passes. Powers in 16 bits leave
the tile that made them, and one pass is left. Hsu et al., "Liger Kernel", arXiv:2410.10989, keeps logits.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.linear_cross_entropy_backward.persistent_products import (
    options,
    origin,
    product,
    program_count,
)
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units

DOMAIN = "rows < 2**31 - 2**12 and vocab < 2**31 - 2**12 and hidden < 2**31 - 2**12"
WEIGHTS_BYTES = 2**31  # of d: 8 Ki rows of 128 Ki columns; more rows are taken in turns
LEAST_ROWS = 64  # of a turn
TILES = 16  # of a row, which a program makes d of
LOG2_E = tl.constexpr(1.4426950408889634)
IGNORED = tl.constexpr(-100)  # torch's ignore_index

Tensor = torch.Tensor


@triton.jit
def _powers(
    x,
    w,
    labels,
    powers,
    highests,
    totals,
    at_label,
    rows,
    vocab,
    hidden,
    width,
    powers_width,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    FLATTEN: tl.constexpr,
):
    x_blocks = tl.make_tensor_descriptor(x, [rows, hidden], [width, 1], [BLOCK_M, BLOCK_K])
    w_blocks = tl.make_tensor_descriptor(w, [vocab, hidden], [width, 1], [BLOCK_N, BLOCK_K])
    out = tl.make_tensor_descriptor(powers, [rows, powers_width], [powers_width, 1], [BLOCK_M, BLOCK_N])
    programs, pieces = tl.num_programs(0), tl.cdiv(vocab, BLOCK_N)
    tiles = tl.cdiv(rows, BLOCK_M) * pieces
    # The stores have their own count: the flattened loop is already at the next tile's loads by then.
    stored = tl.program_id(0) - programs
    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=FLATTEN):
        row, column = origin(tile, rows, vocab, BLOCK_M, BLOCK_N)
        logits = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(hidden, BLOCK_K)):
            x_block = x_blocks.load([row, step * BLOCK_K])
            w_block = w_blocks.load([column, step * BLOCK_K])
            logits = tl.dot(x_block, w_block.T, logits)

        stored += programs
        row, column = origin(stored, rows, vocab, BLOCK_M, BLOCK_N)
        mine, columns = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
        inside = mine < rows
        logits = tl.where((columns < vocab)[None, :], logits * LOG2_E, -float("inf"))
        label = tl.load(labels + mine, mask=inside, other=-1)
        found = tl.sum(tl.where(columns[None, :] == label[:, None], logits, 0.0), axis=1)
        here = (label >= column) & (label < min(vocab, column + BLOCK_N))
        tl.store(at_label + mine, found, mask=inside & here)
        highest = tl.max(logits, axis=1)
        logits = tl.exp2(logits - tl.where(highest == -float("inf"), 0.0, highest)[:, None])
        to = mine.to(tl.int64) * pieces + column // BLOCK_N
        tl.store(highests + to, highest, mask=inside)
        tl.store(totals + to, tl.sum(logits, axis=1), mask=inside)
        out.store([row, column], logits.to(powers.dtype.element_ty))


@triton.jit
def _join(
    highests, totals, at_label, labels, dloss, loss, lse, d_at_label, pieces, vocab, WIDTH: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    highest = tl.full((WIDTH,), -float("inf"), tl.float32)
    total = tl.zeros((WIDTH,), tl.float32)
    for first in range(0, pieces, WIDTH):
        at = first + tl.arange(0, WIDTH)
        one = tl.load(highests + row * pieces + at, mask=at < pieces, other=-float("inf"))
        part = tl.load(totals + row * pieces + at, mask=at < pieces, other=0.0)
        raised = tl.maximum(highest, one)
        base = tl.where(raised == -float("inf"), 0.0, raised)
        total = total * tl.exp2(highest - base) + part * tl.exp2(one - base)
        highest = raised
    top = tl.max(highest, axis=0)
    base = tl.where(top == -float("inf"), 0.0, top)
    total = tl.sum(total * tl.exp2(highest - base), axis=0)
    label = tl.load(labels + row)
    is_column = (label >= 0) & (label < vocab)
    found = tl.load(at_label + row, mask=is_column, other=float("nan"))
    of_row = top + tl.log2(total)
    result = tl.where(label == IGNORED, 0.0, (tl.log2(total) + (top - found)) / LOG2_E)
    tl.store(loss + row, result.to(loss.dtype.element_ty))
    tl.store(lse + row, of_row)
    tl.store(d_at_label + row, (tl.exp2(found - of_row) - 1.0) * tl.load(dloss + row).to(tl.float32))


@triton.jit
def _weights(
    powers,
    highests,
    labels,
    dloss,
    lse,
    d_at_label,
    width,
    pieces,
    TILES: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Makes d of the powers of TILES tiles of a row."""
    parts = tl.cdiv(pieces, TILES)
    row = (tl.program_id(0) // parts).to(tl.int64)
    tile = (tl.program_id(0) % parts) * TILES + tl.arange(0, TILES)
    label = tl.load(labels + row)
    highest = tl.load(highests + row * pieces + tile, mask=tile < pieces, other=-float("inf"))
    factor = tl.exp2(highest - tl.load(lse + row)) * tl.load(dloss + row).to(tl.float32)
    column = tile[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    at, inside = powers + row * width + column, column < width
    d = tl.load(at, mask=inside, other=0.0).to(tl.float32) * factor[:, None]
    d = tl.where(column == label, tl.load(d_at_label + row), d)
    d = tl.where(label == IGNORED, 0.0, d)
    tl.store(at, d.to(powers.dtype.element_ty), mask=inside)


def run(x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Losses, (rows,), dx, (rows, hidden), and dw, (vocab, hidden), from the gradients of the losses.

    As in torch a row with label -100 has loss 0 and no part in the gradients; one with another label that is
    no column has loss NaN. Raises Refusal before sm_90, in float32 and beyond 32-bit sizes.
    """
    key = "linear_cross_entropy_training/triton_persistent_tma"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    if x.is_cuda and torch.cuda.get_device_capability(x.device) < (9, 0):
        raise Refusal(f"{key} needs a TMA unit, so compute capability 9.0 or later.")
    (rows, hidden), vocab = x.shape, w.shape[0]
    require_32_bit_product(key, rows, vocab, hidden)
    loss = torch.empty(rows, dtype=x.dtype, device=x.device)
    if not rows:
        return loss, torch.empty_like(x), torch.zeros_like(w)
    x, w = in_whole_units(x), in_whole_units(w)
    width, d_width = x.shape[1], vocab + -vocab % 8
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    # Few in Triton's interpreter on a CPU, to pass on from turn to turn.
    room = WEIGHTS_BYTES if x.is_cuda else 2**17
    turn = min(max(room // (2 * d_width) // LEAST_ROWS, 1) * LEAST_ROWS, rows)
    d = torch.empty(turn, d_width, dtype=x.dtype, device=x.device)
    sums = d if turn == rows else torch.empty(vocab, width, dtype=torch.float32, device=x.device)
    # The descriptors are made on the device, in memory from here. The setting holds for this thread only.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=x.device))
    grid, tile = (program_count(x.device),), options(turn * vocab * hidden, x.device)
    for first in range(0, rows, turn):
        part = x[first : first + turn]
        here, some = len(part), slice(first, first + turn)
        _make_d(part, w, labels[some], dloss[some], loss[some], d, hidden)
        product[grid](
            *(d, w, sums, dx[some], here, width, vocab, d_width, width, width),
            **{"TRANSPOSED": False, "ADDS": False, "KEEPS": False, **tile},
        )
        product[grid](
            *(d, part, sums, dw, vocab, width, here, d_width, width, width),
            **{"TRANSPOSED": True, "ADDS": first > 0, "KEEPS": first + turn < rows, **tile},
        )
    return loss, dx[:, :hidden].contiguous(), dw[:, :hidden].contiguous()


def _make_d(
    x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor, loss: Tensor, d: Tensor, hidden: int
) -> None:
    """The gradient of the logits, and the losses."""
    (rows, width), vocab, d_width = x.shape, len(w), d.shape[1]
    tile = options(rows * vocab * hidden, x.device)
    block_n = int(tile["BLOCK_N"])
    pieces = triton.cdiv(vocab, block_n)
    highests, totals = torch.empty(2, rows, pieces, dtype=torch.float32, device=x.device)
    at_label, lse, d_at_label = torch.empty(3, rows, dtype=torch.float32, device=x.device)
    _powers[(program_count(x.device),)](
        *(x, w, labels, d, highests, totals, at_label, rows, vocab, hidden, width, d_width), **tile
    )
    step = min(triton.next_power_of_2(pieces), 512)
    _join[(rows,)](
        *(highests, totals, at_label, labels, dloss, loss, lse, d_at_label, pieces, vocab, step), num_warps=1
    )
    _weights[(rows * triton.cdiv(pieces, TILES),)](
        powers=d,
        highests=highests,
        labels=labels,
        dloss=dloss,
        lse=lse,
        d_at_label=d_at_label,
        width=d_width,
        pieces=pieces,
        TILES=TILES,
        BLOCK_N=block_n,
    )
