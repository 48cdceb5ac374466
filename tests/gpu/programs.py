"""CUDA C++ of the library, compiled for the GPU at hand."""

import functools
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.spec import Dtype

STRIPS_KERNELS = ("matmul", "matmul_relu", "matmul_bias_gelu")


@functools.cache
def hopper_program(name: str, stem: str, dtype: Dtype) -> Any:
    """The program of this kernel and version. Skips the test on other GPUs than Hopper's."""
    from roofscope.profiling.worker.build.providers import cuda

    capability = torch.cuda.get_device_capability()
    if capability != (9, 0):
        pytest.skip("as tiles of wgmma, these are for Hopper")
    source, device = LIBRARY / name / f"{stem}.cu", torch.device("cuda", 0)
    return cuda.CudaProgram(source, dtype, cuda.architecture_of(capability), device)


@functools.cache
def strips_program(name: str, dtype: Dtype) -> Any:
    """The kernels of strips alone, which compile sooner than all of a version. For a Hopper GPU."""
    from roofscope.profiling.worker.build.providers import cuda

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "strips.cu"
        source.write_text(strips_source(name))
        return cuda.CudaProgram(source, dtype, cuda.architecture_of((9, 0)), torch.device("cuda", 0))


def strips_source(name: str) -> str:
    """The same, of one of STRIPS_KERNELS, as text."""
    finish = "FINISH" if name == "matmul_bias_gelu" else "Finish{}"
    return f'#include "shared/wgmma_strips.cuh"\n#include "{name}/finish.cuh"\nSTRIPS_KERNELS({finish})\n'
