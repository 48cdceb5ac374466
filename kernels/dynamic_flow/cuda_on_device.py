"""Launches ``cuda_on_device.cu``: the sum in parts, then the branch, with nothing asked of the host."""

import torch

PARTS = 512  # these four as in cuda_on_device.cu
THREADS = 256
UNROLL = 4
SUM_THREADS = 512
PACK_BYTES = 16


def run(program, x: torch.Tensor) -> torch.Tensor:
    """The function that the sign of the sum of ``x``, (n,) and contiguous, chooses."""
    y = torch.empty_like(x)
    if n := x.numel():
        parts = torch.empty(PARTS, dtype=torch.float32, device=x.device)
        program.launch("add_up", PARTS, SUM_THREADS, x, parts, n)
        elements = THREADS * UNROLL * PACK_BYTES // x.element_size()
        program.launch("branch", -(-n // elements), THREADS, x, y, parts, n)
    return y
