"""The source keeps the compiler busy: templates that make templates.

needs: nvrtc
right: build error, timeout
compiles: yes
"""

import torch

from roofscope import CudaProgram


def run(program: CudaProgram, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    program.launch("fault", -(-x.numel() // 256), 256, x, y, x.numel())
    return y
