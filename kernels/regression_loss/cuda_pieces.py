"""Launches ``cuda_pieces.cu``: the regression loss, a grid that stays, and one block for its sums."""

import torch

THREADS = 256
PACK_BYTES = 16
UNROLL = 4  # as in cuda_pieces.cu
BLOCKS = 1024  # at most: a few for each multiprocessor of any GPU


def run(program, p: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Of predictions ``p`` and targets ``t``, (n,) and contiguous. Gives (1,)."""
    loss = torch.empty(1, dtype=p.dtype, device=p.device)
    blocks = max(min(-(-p.nbytes // (PACK_BYTES * UNROLL * THREADS)), BLOCKS), 1)
    sums = torch.empty(blocks, dtype=torch.float32, device=p.device)
    program.launch("loss_pieces", blocks, THREADS, p, t, sums, p.numel())
    program.launch("loss_of_pieces", 1, THREADS, sums, loss, blocks, p.numel())
    return loss
