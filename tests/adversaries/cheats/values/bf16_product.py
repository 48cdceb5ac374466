"""A product of float32 is made in bfloat16.

source: https://kernelbench.com/blog/hard
needs: cpu
workload: product
right: wrong values
"""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.bfloat16() @ b.bfloat16()).float()
