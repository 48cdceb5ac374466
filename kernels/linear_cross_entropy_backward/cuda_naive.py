"""Launches ``cuda_naive.cu``: gradients of a linear layer's cross-entropy, a thread an element."""

import torch

from roofscope import CudaProgram

COLUMNS, MOST_PARTS = 2048, 64  # of the vocabulary at a time, at least, and into how many parts at most
THREADS = 256


def run(
    program: CudaProgram,
    x: torch.Tensor,
    w: torch.Tensor,
    labels: torch.Tensor,
    lse: torch.Tensor,
    dloss: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """dx, (rows, hidden), and dw, (vocab, hidden), from the gradient of each row's loss.

    As in torch a row with label -100 has no part in them.
    """
    (rows, hidden), vocab = x.shape, w.shape[0]
    if not rows:
        return torch.empty_like(x), torch.zeros_like(w)
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    most = min(max(COLUMNS, -(-vocab // MOST_PARTS)), vocab)
    d = torch.empty(rows * most, dtype=torch.float32, device=x.device)
    sums = torch.empty(rows * hidden, dtype=torch.float32, device=x.device)
    for first in range(0, vocab, most):
        columns = min(most, vocab - first)
        sizes = (rows, columns, hidden, first)
        program.launch(
            *("make_weights", -(-rows * columns // THREADS), THREADS), *(x, w, labels, lse, dloss, d), *sizes
        )
        program.launch("add_to_dx", -(-rows * hidden // THREADS), THREADS, d, w, sums, dx, *sizes)
        program.launch("make_dw", -(-columns * hidden // THREADS), THREADS, d, x, dw, *sizes)
    return dx, dw
