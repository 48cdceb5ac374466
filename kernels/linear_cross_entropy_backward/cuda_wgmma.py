"""Launcher of cuda_wgmma.cu: gradients of a linear layer's cross-entropy on the tensor cores."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.linear_cross_entropy_backward import few_rows, loose_few, residues
from roofscope.kernels.linear_cross_entropy_backward.products import (
    BAND,
    STEP,
    TILE,
    add_to_dx,
    make_dw,
    sums_between,
)
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.whole_rows import both_in_whole_units

DOMAIN = "rows < 2**31 - 2**12 and vocab < 2**31 - 2**12 and hidden < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

CHUNK_BYTES = 2**27  # of d: 16 Ki columns of 4 Ki rows
_LEAST_COLUMNS = 256  # of a chunk: a tile


def run(
    program: CudaProgram,
    x: torch.Tensor,
    w: torch.Tensor,
    labels: torch.Tensor,
    lse: torch.Tensor,
    dloss: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """dx, (rows, hidden), and dw, (vocab, hidden), from the gradient of each row's loss.

    As in torch a row with label -100 has no part in them. Raises Refusal where wgmma is missing, in float32
    and beyond 32-bit sizes.
    """
    key = "linear_cross_entropy_backward/cuda_wgmma"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    needs_hopper(key, x.device)
    (rows, hidden), vocab = x.shape, w.shape[0]
    require_32_bit_product(key, rows, vocab, hidden)
    if not rows:
        return torch.empty_like(x), torch.zeros_like(w)
    if residues.takes(x, w, program.multiprocessor_count):
        order = residues.order_of(x, w)
        made = residues.make_of_logits(program, "weights", order, x, w, labels, lse, dloss)
        return residues.make_gradients(program, order, *made, x, w)
    if loose_few.takes(x, w, program.multiprocessor_count):
        return loose_few.run(program, x, w, labels, dloss, (None, lse))
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    x, w = both_in_whole_units(program, x, w)
    if rows <= few_rows.FEW:
        small = few_rows.is_small(rows, vocab, hidden, program.multiprocessor_count)
        d = few_rows.room_for_d(x, vocab)
        few_rows.make_of_logits(program, "weights", small, x, w, d, labels, lse, dloss)
        few_rows.make_gradients(program, d, x, w, dx, dw)
        return dx, dw
    chunk = min(max(CHUNK_BYTES // (2 * rows) // _LEAST_COLUMNS, 1) * _LEAST_COLUMNS, vocab)
    d = torch.empty(rows, chunk + -chunk % 8, dtype=x.dtype, device=x.device)
    sums = sums_between(-(-vocab // chunk), rows, hidden, x.device)
    of_x, of_d = tensor_map(x, (TILE.rows, STEP)), tensor_map(d, (64, BAND))
    for first in range(0, vocab, chunk):
        part = w[first : first + chunk]
        columns = len(part)
        program.launch(
            *("make_weights", TILE.plan(rows, columns, 1, program.multiprocessor_count).blocks, TILE.threads),
            *(of_x, tensor_map(part, (TILE.columns // TILE.cluster, STEP)), of_d, labels, lse, dloss),
            *(rows, columns, hidden, first),
            shared_bytes=TILE.shared_bytes,
            overlaps=True,
        )
        add_to_dx(program, d, part, dx, sums, adds=first > 0, keeps=first + columns < vocab)
        make_dw(program, d, x, dw[first : first + chunk], sums, adds=False, keeps=False)
    return dx, dw
