"""A product of float32 is made in TF32.

source: https://deep-reinforce.com/defense_kernel_hack.html
needs: cuda
workload: product
right: wrong values, tampered
"""

import torch

torch.backends.cuda.matmul.allow_tf32 = True


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
