"""C from the blocks of A and B in float64: the judge, never timed."""

import torch

BLOCK = 128


def run(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in float64.

    ``scale_a``, (blocks of k, m), has a scale for each row of a block of A's columns, ``scale_b``, (blocks of
    n, blocks of k), one for each block of B.
    """
    # Products of a scale and an element of FP8 are exact in float64.
    columns, rows = a.shape[1], len(b)
    scaled_a = a.double() * scale_a.double().repeat_interleave(BLOCK, dim=0)[:columns].T
    blocks = scale_b.double().repeat_interleave(BLOCK, dim=0)[:rows].repeat_interleave(BLOCK, dim=1)
    return scaled_a @ (b.double() * blocks[:, :columns]).T
