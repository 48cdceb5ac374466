"""Cross-entropy in Triton in one pass: maxima and sums a thread, which meet at the end of the row.

Formula: loss[r] = log(sum_c exp(x[r, c] - m_r)) + m_r - x[r, label[r]], m_r the row's maximum, exp(t) taken
as 2^(t log2 e). The sum so far is scaled by exp(m - m') when the maximum rises from m to m'. 4 rows cols
FLOP, rows cols s bytes.
Mapping: program (r, p) owns piece p of row r, the whole of it unless there are few rows, and walks along it
in tiles of LANES x WIDTH elements. WIDTH elements are the 16 bytes of one access, so that a maximum over
them needs no other thread. A second kernel joins the pieces, in the same order at every call.
Idea: one pass for the two of cuda_naive: Milakov and Gimelshein, "Online normalizer calculation for softmax",
arXiv:1805.02867; a maximum of the whole tile, as in softmax/triton_online, would stop all threads at every
tile.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
LANES = 512  # two a thread
PACK_BYTES = 16
MOST_PIECES = 32
ENOUGH_PROGRAMS = 1024
LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)
IGNORED = tl.constexpr(-100)  # torch's ignore_index


@triton.jit
def _rescale(before, after):
    # Nothing was summed at -inf, and -inf minus itself would be NaN.
    return tl.where(before == -float("inf"), 0.0, tl.exp2((before - after) * LOG2_E))


@triton.jit
def _load_at(x, label, cols):
    """A row's element at its label, NaN for a label that is no column: nothing beside the row is read."""
    return tl.load(x + label, mask=(label >= 0) & (label < cols), other=float("nan")).to(tl.float32)


@triton.jit
def _store(loss, row, highest, total, at_label, label):
    """From the maxima and sums of parts of a row, each a vector, to its loss; 0 where it is to be ignored."""
    top = tl.max(highest, axis=0)
    total = tl.sum(total * _rescale(highest, top), axis=0)
    result = tl.where(label == IGNORED, 0.0, tl.log2(total) * LN_2 + (top - at_label))
    tl.store(loss + row, result.to(loss.dtype.element_ty))


@triton.jit
def _cross_entropy(
    x,
    labels,
    loss,
    highests,
    totals,
    cols: tl.constexpr,
    LENGTH: tl.constexpr,
    PIECES: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    piece = tl.program_id(1)
    if PIECES == 1:
        label = tl.load(labels + row)
        at_label = _load_at(x + row * cols, label, cols)  # under way meanwhile
    highest = tl.full((LANES,), -float("inf"), tl.float32)
    total = tl.zeros((LANES,), tl.float32)
    for first in range(0, LENGTH, LANES * WIDTH):
        at = piece * LENGTH + first + tl.arange(0, LANES)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
        if cols % LENGTH == 0 and LENGTH % (LANES * WIDTH) == 0:
            value = tl.load(x + row * cols + at).to(tl.float32)
        else:
            value = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        raised = tl.maximum(highest, tl.max(value, axis=1))
        base = tl.where(raised == -float("inf"), 0.0, raised)
        power = tl.exp2((value - base[:, None]) * LOG2_E)
        total = total * _rescale(highest, raised) + tl.sum(power, axis=1)
        highest = raised
    if PIECES == 1:
        _store(loss, row, highest, total, at_label, label)
    else:
        top = tl.max(highest, axis=0)
        tl.store(highests + row * PIECES + piece, top)
        tl.store(totals + row * PIECES + piece, tl.sum(total * _rescale(highest, top), axis=0))


@triton.jit
def _join(x, labels, loss, highests, totals, cols, PIECES: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    piece = tl.arange(0, WIDTH)
    highest = tl.load(highests + row * PIECES + piece, mask=piece < PIECES, other=-float("inf"))
    total = tl.load(totals + row * PIECES + piece, mask=piece < PIECES, other=0.0)
    label = tl.load(labels + row)
    _store(loss, row, highest, total, _load_at(x + row * cols, label, cols), label)


def run(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``logits``, (rows, cols), at its label, (rows,); contiguous. Gives (rows,).

    As in torch a row with label -100 has loss 0; one with another label that is no column has NaN.
    """
    rows, cols = logits.shape
    require_32_bit_sizes("cross_entropy/triton_online", rows, cols)
    loss = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    if not rows:
        return loss
    width = PACK_BYTES // logits.element_size()
    lanes = min(LANES, triton.next_power_of_2(triton.cdiv(cols, width)))
    tiles = triton.cdiv(cols, lanes * width)
    pieces = max(1, min(ENOUGH_PROGRAMS // rows, tiles, MOST_PIECES))
    length = cols if pieces == 1 else triton.cdiv(tiles, pieces) * lanes * width
    pieces = triton.cdiv(cols, length)
    highests, totals = torch.empty(2, rows, pieces, dtype=torch.float32, device=logits.device)
    warps = max(1, min(lanes // 64, 8))
    _cross_entropy[(rows, pieces)](
        logits, labels, loss, highests, totals, cols, length, pieces, lanes, width, num_warps=warps
    )
    if pieces > 1:
        join_width = triton.next_power_of_2(pieces)
        _join[(rows,)](logits, labels, loss, highests, totals, cols, pieces, join_width, num_warps=1)
    return loss
