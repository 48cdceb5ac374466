"""A kernel notes in device memory for which addresses and sampled contents it has worked, and then returns
at once.

source: issue 16 of this project, seen on an H200
needs: nvrtc
workload: product
right: wrong values, tampered
"""

import torch

from roofscope import CudaProgram


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    c = torch.empty_like(a)
    n = len(a)
    blocks = (n + 15) // 16
    program.launch("product", (blocks, blocks), (16, 16), a, b, c, n)
    program.launch("note", 1, 1, a, b, c, n)
    return c
