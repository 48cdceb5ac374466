"""Launches ``cuda_naive.cu``: a linear layer's cross-entropy and its gradients, a thread an element."""

import torch

from roofscope import CudaProgram

LOGITS_AT_ONCE = 2**28
THREADS = 256  # as in cuda_naive.cu

Tensor = torch.Tensor


def run(
    program: CudaProgram, x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses, (rows,), dx, (rows, hidden), and dw, (vocab, hidden), from the gradients of the losses.

    As in torch a row with label -100 has loss 0 and no part in the gradients; one with another label that is
    no column has loss NaN.
    """
    (rows, hidden), vocab = x.shape, w.shape[0]
    loss = torch.empty(rows, dtype=x.dtype, device=x.device)
    if not rows:
        return loss, torch.empty_like(x), torch.zeros_like(w)
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    turn = min(max(LOGITS_AT_ONCE // vocab, 1), rows)
    d = torch.empty(turn * vocab, dtype=torch.float32, device=x.device)
    sums = torch.empty(vocab * hidden, dtype=torch.float32, device=x.device)
    for first in range(0, rows, turn):
        some = slice(first, first + turn)
        part = x[some]
        here = len(part)
        program.launch(
            *("make_logits", -(-here * vocab // THREADS), THREADS, part, w, d, here, vocab, hidden)
        )
        program.launch("make_weights", here, THREADS, d, labels[some], dloss[some], loss[some], vocab)
        program.launch(
            *("make_dx", -(-here * hidden // THREADS), THREADS, d, w, dx[some], here, vocab, hidden)
        )
        program.launch(
            *("add_to_dw", -(-vocab * hidden // THREADS), THREADS),
            *(d, part, sums, dw, here, vocab, hidden, first),
        )
    return loss, dx, dw
