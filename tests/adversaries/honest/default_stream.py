"""A launch on the legacy default stream, as tutorials write it: measured, or refused in a sentence that
names it.

source: https://docs.pytorch.org/tutorials/advanced/cpp_custom_ops.html
needs: nvrtc
workload: doubled
right: measured, wrong values, launch error
says: stream
"""

import torch

from roofscope import CudaProgram


def run(program: CudaProgram, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    with torch.cuda.stream(torch.cuda.default_stream()):
        program.launch("doubled", (len(x) + 255) // 256, 256, x, y, len(x))
    return y
