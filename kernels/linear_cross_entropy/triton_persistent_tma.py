"""A linear layer's cross-entropy by a persistent grid: tiles of logits become two numbers a row.

Formula: loss[r] = log(sum_c exp(x[r] . w[c])) - x[r] . w[label[r]]; 2 rows vocab hidden FLOP.
Mapping: each of P programs takes every P-th tile of the logits, in groups of rows of tiles, from tiles that
the tensor memory accelerator copies. It stores the maximum and the sum of powers of each of its rows, and the
logit at a label that lies in the tile. A second kernel joins the tiles of a row. Compute capability 9.0 and
later.
Idea: cuda_naive keeps the logits out of memory too, but reads all of w for each row. Tiles share w among 128
rows, as in matmul/triton_persistent_tma, and a row's sums, which are then in many tiles, need a second
kernel. Wijmans et al., "Cut Your Losses in Large-Vocabulary Language Models", arXiv:2411.09009.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units
from roofscope.kernels.shared.tuning import bench

DOMAIN = "rows < 2**31 - 2**12 and vocab < 2**31 - 2**12 and hidden < 2**31 - 2**12"
LOG2_E = tl.constexpr(1.4426950408889634)
IGNORED = tl.constexpr(-100)  # torch's ignore_index
BLOCK_N = tl.constexpr(256)  # columns of a tile
_WORTH_TUNING = 2**29


def _config(block_m: int, num_warps: int, num_stages: int) -> triton.Config:
    return triton.Config({"BLOCK_M": block_m, "GROUP_M": 16}, num_warps=num_warps, num_stages=num_stages)


SMALL = _config(64, num_warps=4, num_stages=3)
CONFIGS = (_config(128, num_warps=8, num_stages=3), _config(128, num_warps=8, num_stages=4), SMALL)


def _worth_trying(_: list[triton.Config], arguments: dict[str, Any], **__: object) -> list[triton.Config]:
    x, rows, vocab, hidden = (arguments[name] for name in ("x", "rows", "vocab", "hidden"))
    small = x.device.type != "cuda" or rows * vocab * hidden < _WORTH_TUNING
    return [SMALL] if small else list(CONFIGS)


@triton.autotune(
    configs=list(CONFIGS),
    key=["rows", "vocab", "hidden"],
    prune_configs_by={"early_config_prune": _worth_trying},
    do_bench=bench,
)
@triton.jit
def _statistics(
    x,
    w,
    labels,
    highests,
    totals,
    at_label,
    rows,
    vocab,
    hidden,
    width,
    BLOCK_K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    x_blocks = tl.make_tensor_descriptor(x, [rows, hidden], [width, 1], [BLOCK_M, BLOCK_K])
    w_blocks = tl.make_tensor_descriptor(w, [vocab, hidden], [width, 1], [BLOCK_N, BLOCK_K])
    rows_of_tiles, columns_of_tiles = tl.cdiv(rows, BLOCK_M), tl.cdiv(vocab, BLOCK_N)
    for tile in tl.range(tl.program_id(0), rows_of_tiles * columns_of_tiles, tl.num_programs(0)):
        group, in_group = tile // (GROUP_M * columns_of_tiles), tile % (GROUP_M * columns_of_tiles)
        height = min(rows_of_tiles - group * GROUP_M, GROUP_M)
        row, piece = (group * GROUP_M + in_group % height) * BLOCK_M, in_group // height
        logits = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(hidden, BLOCK_K)):
            x_block = x_blocks.load([row, step * BLOCK_K])
            w_block = w_blocks.load([piece * BLOCK_N, step * BLOCK_K])
            logits = tl.dot(x_block, w_block.T, logits)
        mine = row + tl.arange(0, BLOCK_M)
        columns = piece * BLOCK_N + tl.arange(0, BLOCK_N)
        inside = mine < rows
        logits = tl.where((columns < vocab)[None, :], logits * LOG2_E, -float("inf"))
        highest = tl.max(logits, axis=1)
        total = tl.sum(tl.exp2(logits - tl.where(highest == -float("inf"), 0.0, highest)[:, None]), axis=1)
        to = mine.to(tl.int64) * columns_of_tiles + piece
        tl.store(highests + to, highest, mask=inside)
        tl.store(totals + to, total, mask=inside)
        label = tl.load(labels + mine, mask=inside, other=-1)
        found = tl.sum(tl.where(columns[None, :] == label[:, None], logits, 0.0), axis=1)
        here = (label >= piece * BLOCK_N) & (label < min(vocab, (piece + 1) * BLOCK_N))
        tl.store(at_label + mine, found, mask=inside & here)


@triton.jit
def _join(highests, totals, at_label, labels, loss, pieces, vocab, WIDTH: tl.constexpr):
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
    result = tl.where(label == IGNORED, 0.0, (tl.log2(total) + (top - found)) / LOG2_E)
    tl.store(loss + row, result.to(loss.dtype.element_ty))


def run(x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``x``, (rows, hidden), by ``w``, (vocab, hidden), at its label. Gives (rows,).

    As in torch a row with label -100 has loss 0; one with another label that is no column has NaN. Raises
    Refusal before sm_90, in float32 and beyond 32-bit sizes.
    """
    key = "linear_cross_entropy/triton_persistent_tma"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    if x.is_cuda and torch.cuda.get_device_capability(x.device) < (9, 0):
        raise Refusal(f"{key} needs a TMA unit, so compute capability 9.0 or later.")
    (rows, hidden), vocab = x.shape, w.shape[0]
    require_32_bit_product(key, rows, vocab, hidden)
    loss = torch.empty(rows, dtype=x.dtype, device=x.device)
    if not rows:
        return loss
    x, w = in_whole_units(x), in_whole_units(w)
    pieces = triton.cdiv(vocab, BLOCK_N.value)
    highests, totals = torch.empty(2, rows, pieces, dtype=torch.float32, device=x.device)
    at_label = torch.empty(rows, dtype=torch.float32, device=x.device)
    # The descriptors are made on the device, in memory from here. The setting holds for this thread only.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=x.device))
    _statistics[(_program_count(x.device),)](
        x, w, labels, highests, totals, at_label, rows, vocab, hidden, x.shape[1], BLOCK_K=64
    )
    width = min(triton.next_power_of_2(pieces), 512)
    _join[(rows,)](highests, totals, at_label, labels, loss, pieces, vocab, width, num_warps=1)
    return loss


def _program_count(device: torch.device) -> int:
    """One program a multiprocessor; a few in Triton's interpreter on a CPU, to pass on from tile to tile."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
