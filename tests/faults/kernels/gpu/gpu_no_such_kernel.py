"""A launch names a kernel that the source does not have.

needs: nvrtc
right: launch error, build error
"""

import torch

from roofscope import CudaProgram


def run(program: CudaProgram, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    program.launch("other", -(-x.numel() // 256), 256, x, y, x.numel())
    return y
