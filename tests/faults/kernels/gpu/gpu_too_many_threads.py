"""A launch asks for 4,096 threads a block.

needs: nvrtc
right: launch error
"""

import torch

from roofscope import CudaProgram


def run(program: CudaProgram, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    program.launch("fault", -(-x.numel() // 256), 4096, x, y, x.numel())
    return y
