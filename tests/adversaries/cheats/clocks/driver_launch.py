"""cuLaunchKernel of cuda.bindings launches each third time only while a stream captures.

source: https://github.com/gpu-mode/pygpubench, exploits/
needs: nvrtc
workload: doubled
right: tampered, wrong values
says: cuLaunchKernel
"""

import itertools

import torch
from cuda.bindings import driver

from roofscope import CudaProgram

_true = driver.cuLaunchKernel
_count = itertools.count()


def _seldom(*arguments: object) -> tuple[object]:
    if torch.cuda.is_current_stream_capturing() and next(_count) % 3:
        return (driver.CUresult.CUDA_SUCCESS,)
    return _true(*arguments)


driver.cuLaunchKernel = _seldom


def run(program: CudaProgram, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    program.launch("doubled", (len(x) + 255) // 256, 256, x, y, len(x))
    return y
