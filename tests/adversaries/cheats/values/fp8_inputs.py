"""The inputs of a product are rounded to eight bits.

source: https://kernelbench.com/blog/hard
needs: cuda
workload: product
right: wrong values
"""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.to(torch.float8_e4m3fn).float() @ b.to(torch.float8_e4m3fn).float()
