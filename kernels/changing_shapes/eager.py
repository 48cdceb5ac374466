"""The pieces of many lengths as PyTorch users write them: a loop of slices, some six kernels a piece.

``region`` is what torch.compile compiles: for the first length, then for any of a kind.
"""

import torch

EPSILON = 1e-5
PIECES = 8


def region(piece: torch.Tensor) -> torch.Tensor:
    """One piece, centred and scaled."""
    centred = piece - piece.mean()
    return centred * torch.rsqrt(centred.square().mean() + EPSILON)


def run(x: torch.Tensor) -> torch.Tensor:
    """Centre and scale each piece of ``x``, (n,): halves of what is left, and the rest."""
    y = torch.empty_like(x)
    start = 0
    for shift in range(1, PIECES + 1):
        end = start + (len(x) >> shift) if shift < PIECES else len(x)
        if start < end:
            y[start:end] = region(x[start:end])
        start = end
    return y
