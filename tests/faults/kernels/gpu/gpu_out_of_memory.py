"""A call asks for a terabyte of device memory.

needs: cuda
right: out of memory, wrong shape, wrong dtype
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(2**40, dtype=torch.uint8, device=x.device)
