"""C from the blocks of A and B in float64: the judge, never timed."""

import torch

BLOCK = 128


def run(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in float64.

    ``scale_a``, (blocks of k, m), has a scale for each row of a block of A's columns, ``scale_b``, (blocks of
    n, blocks of k), one for each block of B.
    """
    c = torch.zeros(len(a), len(b), dtype=torch.float64, device=a.device)
    pieces = zip(a.split(BLOCK, dim=1), b.split(BLOCK, dim=1), strict=True)
    for block, (of_a, of_b) in enumerate(pieces if a.shape[1] else ()):
        scale = scale_b[:, block].double().repeat_interleave(BLOCK)[: len(b)]
        c += (of_a.double() @ of_b.double().T) * scale_a[block].double()[:, None] * scale
    return c
