"""Launches few_powers.cuh: a linear layer's loss and gradients of few rows."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.linear_cross_entropy_backward import few_rows

Tensor = torch.Tensor

_THREADS = 256
_COLUMNS_OF_BLOCK = 8192  # which a block makes d of at a time, as in weights.cuh


def run(
    program: CudaProgram,
    x: Tensor,
    w: Tensor,
    labels: Tensor,
    dloss: Tensor,
    outputs: tuple[Tensor, Tensor, Tensor],
) -> None:
    """Losses, dx and dw of few rows. Those of x and w are of whole 16 bytes, and maybe longer."""
    loss, dx, dw = outputs
    (rows, hidden), vocab = dx.shape, len(w)
    small = few_rows.is_small(rows, vocab, hidden, program.multiprocessor_count)
    d, piece = few_rows.room_for_d(x, vocab, small)
    width = d.shape[1]
    pieces = torch.empty((rows, width // piece, 2), dtype=torch.float32, device=x.device)
    at_label = torch.empty(rows, dtype=torch.float32, device=x.device)
    few_rows.make_of_logits(program, "powers", small, x, w, d, labels, pieces, at_label)
    blocks = -(-width // _COLUMNS_OF_BLOCK)
    program.launch(
        *("join_and_make_weights", rows * blocks, _THREADS, d, pieces, at_label, labels, dloss, loss),
        *(vocab, width, width // piece, blocks, piece.bit_length() - 1),
        overlaps=True,
    )
    few_rows.make_gradients(program, d, x, w, dx, dw)
