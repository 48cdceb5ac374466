"""CUDA C++ of the library, compiled for the GPU at hand."""

import functools
from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.spec import Dtype


@functools.cache
def hopper_program(name: str, stem: str, dtype: Dtype) -> Any:
    """The program of this kernel and version. Skips the test on other GPUs than Hopper's."""
    from roofscope.profiling.worker.build.providers import cuda

    capability = torch.cuda.get_device_capability()
    if capability != (9, 0):
        pytest.skip("as tiles of wgmma, these are for Hopper")
    source, device = LIBRARY / name / f"{stem}.cu", torch.device("cuda", 0)
    return cuda.CudaProgram(source, dtype, cuda.architecture_of(capability), device)
