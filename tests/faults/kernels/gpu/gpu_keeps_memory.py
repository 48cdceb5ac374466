"""A call takes all memory of the device and keeps it.

needs: cuda
right: out of memory, measured, tampered, launch error, not settled
"""

import torch

kept = []


def run(x: torch.Tensor) -> torch.Tensor:
    try:
        while True:
            kept.append(torch.empty(2**30, dtype=torch.uint8, device=x.device))
    except torch.cuda.OutOfMemoryError:
        return x * 2
