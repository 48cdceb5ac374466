"""One block of a kernel waits for a flag that nobody sets.

needs: nvrtc
right: timeout
"""

import torch

from roofscope import CudaProgram


def run(program: CudaProgram, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    program.launch("fault", -(-x.numel() // 256), 256, x, y, x.numel())
    return y
