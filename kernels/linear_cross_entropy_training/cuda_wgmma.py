"""Launcher of cuda_wgmma.cu: a linear layer's cross-entropy and its gradients on the tensor cores."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.linear_cross_entropy_backward import few_rows, loose_few, residues
from roofscope.kernels.linear_cross_entropy_backward.products import (
    SMALL_TILE,
    STEP,
    TILE,
    add_to_dx,
    make_dw,
    sums_between,
)
from roofscope.kernels.linear_cross_entropy_training import powers
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.whole_rows import both_in_whole_units

DOMAIN = "rows < 2**31 - 2**12 and vocab < 2**31 - 2**12 and hidden < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

WEIGHTS_BYTES = 2**31  # of d: 8 Ki rows of 128 Ki columns; more rows are taken in turns
_LEAST_ROWS = 256  # of a turn: those of a cluster
_THREADS = 256  # of a block that joins, a warp a row, or that makes d
_SAMPLED_TILES = 4  # of a row, as in cuda_wgmma.cu

Tensor = torch.Tensor


def run(
    program: CudaProgram, x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses, (rows,), dx, (rows, hidden), and dw, (vocab, hidden), from the gradients of the losses.

    As in torch a row with label -100 has loss 0 and no part in the gradients; one with another label that is
    no column has loss NaN. Raises Refusal where wgmma is missing, in float32 and beyond 32-bit sizes.
    """
    key = "linear_cross_entropy_training/cuda_wgmma"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    needs_hopper(key, x.device)
    (rows, hidden), vocab = x.shape, w.shape[0]
    require_32_bit_product(key, rows, vocab, hidden)
    loss = torch.empty(rows, dtype=x.dtype, device=x.device)
    if not rows:
        return loss, torch.empty_like(x), torch.zeros_like(w)
    if residues.takes(x, w, program.multiprocessor_count):
        made = powers.make_d_of_residues(program, x, w, labels, dloss, loss)
        return loss, *residues.make_gradients(program, *made, x, w)
    if loose_few.takes(x, w, program.multiprocessor_count):
        return loss, *loose_few.run(program, x, w, labels, dloss, (loss, None))
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    x, w = both_in_whole_units(program, x, w)
    if rows <= few_rows.FEW and not is_worth_a_sample(x, w):
        d = few_rows.room_for_d(x, vocab)
        powers.make_d(program, x, w, labels, dloss, loss, d)
        few_rows.make_gradients(program, d, x, w, dx, dw)
        return loss, dx, dw
    width = vocab + -vocab % SMALL_TILE.columns  # whole small tiles, and lines of L2
    turn = min(max(WEIGHTS_BYTES // (2 * width) // _LEAST_ROWS, 1) * _LEAST_ROWS, rows)
    d_of_turns = torch.empty(turn, width, dtype=x.dtype, device=x.device)
    sums = sums_between(-(-rows // turn), vocab, w.shape[1], x.device)
    for first in range(0, rows, turn):
        some = slice(first, first + turn)
        part, d = x[some], d_of_turns[: len(x[some])]
        scales, scaled = _make_d(program, part, w, labels[some], dloss[some], loss[some], d)
        add_to_dx(program, d, w, dx[some], sums, adds=False, keeps=False, scales=scales)
        make_dw(program, d, scaled, dw, sums, adds=first > 0, keeps=first + turn < rows)
    return loss, dx, dw


def is_worth_a_sample(x: Tensor, w: Tensor) -> bool:
    """Whether a pass over d, which a sample saves, takes longer than its products.

    Powers relative to a sample's maximum need a wide exponent.
    """
    pass_ns, sample_ns = 4 * len(x) * len(w) / 2800, TILE.step_ns * w.shape[1] / STEP
    return x.dtype == torch.bfloat16 and pass_ns > 2 * sample_ns + 20_000


def _make_d(
    program: CudaProgram, x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor, loss: Tensor, d: Tensor
) -> tuple[Tensor | None, Tensor]:
    """The gradient of the logits, in d, but for a factor of each row, and the losses.

    Gives the factors, if there are any, and x with its rows times them.
    """
    if not is_worth_a_sample(x, w):
        powers.make_d(program, x, w, labels, dloss, loss, d)
        return None, x
    (rows, hidden), vocab, width = x.shape, len(w), d.shape[1]
    count = -(-vocab // TILE.columns)
    pieces = torch.empty((rows, count, 2), dtype=torch.float32, device=x.device)
    at_label, scales = torch.empty((2, rows), dtype=torch.float32, device=x.device)
    results = torch.empty((rows, 2), dtype=torch.float32, device=x.device)
    maxima = _maxima_of_sample(program, x, w)
    powers.make_of_tiles(program, "powers_of_tiles", x, w, d, labels, maxima, pieces, at_label)
    program.launch(
        *("join", -(-rows * 32 // _THREADS), _THREADS, pieces, at_label, labels, dloss, maxima),
        *(loss, results, scales, d, rows, count, vocab, width),
        overlaps=True,
    )
    program.launch(
        *("make_weights", rows, _THREADS, d, pieces, results, scales, labels, dloss, width, count),
        overlaps=True,
    )
    scaled = torch.empty_like(x)
    program.launch("scale_rows", rows, _THREADS, x, scales, scaled, hidden)
    return scales, scaled


def _maxima_of_sample(program: CudaProgram, x: Tensor, w: Tensor) -> Tensor:
    """The largest logit of each row, times log2(e), in each of the first tiles."""
    columns = min(_SAMPLED_TILES * TILE.columns, len(w))
    maxima = torch.full((len(x), _SAMPLED_TILES), -torch.inf, dtype=torch.float32, device=x.device)
    sizes = (len(x), columns, x.shape[1])
    program.launch(
        *("maxima_of_sample", TILE.plan(*sizes[:2], 1, program.multiprocessor_count).blocks, TILE.threads),
        *(tensor_map(x, (TILE.rows, STEP)), tensor_map(w[:columns], (TILE.columns // TILE.cluster, STEP))),
        *(maxima, *sizes),
        shared_bytes=TILE.shared_bytes,
        overlaps=True,
    )
    return maxima
