"""A product by the vendor's library, which is nobody's cheat here.

source: https://makora.com/blog/reward-hacks
needs: cpu
workload: product
right: measured
"""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
