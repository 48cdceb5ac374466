"""torch.compile of the eager version; the variant is the mode."""

import time

import torch

from profiling.catalog import load_module
from profiling.outcome import BuildInfo
from profiling.worker.providers import BuildRequest, Built, Tensors


def build(request: BuildRequest) -> Built:
    """Compile for fixed shapes. The compiler works at the first call, which is timed as such."""
    # A fresh module has fresh code objects: Dynamo keeps at most 8 compilations per code object
    # and would fall back to eager in silence after that.
    module = load_module(request.folder / "eager.py")
    compiled = torch.compile(module.run, mode=request.implementation.variant, fullgraph=True, dynamic=False)
    seconds: list[float] = []

    def call(*inputs: torch.Tensor) -> Tensors:
        if seconds:
            return compiled(*inputs)
        started = time.perf_counter()
        result = compiled(*inputs)
        seconds.append(time.perf_counter() - started)
        return result

    return Built(call, lambda: BuildInfo(compile_s=seconds[0] if seconds else 0.0))
