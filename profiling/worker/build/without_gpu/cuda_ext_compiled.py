"""CUDA extensions of PyTorch for an architecture without a GPU: built by nvcc, and not run.

What the host function launches, and how, is its own.
"""

import time
from pathlib import Path

from roofscope.profiling.paths import cache_folder
from roofscope.profiling.worker.build.contract import BuildRequest, Built
from roofscope.profiling.worker.build.extension_unit import as_called
from roofscope.profiling.worker.build.machine_code import code_of_library
from roofscope.profiling.worker.build.providers import cuda_ext as provider
from roofscope.profiling.worker.build.without_gpu.cuda_compiled import info_of, kernels_of, never_called
from roofscope.profiling.worker.build.without_gpu.resource_usage import usage_of
from roofscope.profiling.worker.build.without_gpu.stand_in import StandIn


def build(request: BuildRequest) -> Built:
    """Compile now, or load what was compiled before. Raises Unavailable without the tools, and BuildError."""
    assert request.target is not None
    entry = request.entry
    capability = StandIn(request.target.architecture).capability
    source = Path(entry.file) if entry else request.folder / f"{request.implementation.stem}.cu"
    cache = cache_folder("extensions")
    offer = as_called(entry.offer, entry.call) if entry and entry.offer else None
    started = time.perf_counter()
    provider.build_extension(source, capability, cache, offer)
    compile_s = time.perf_counter() - started
    library = provider.library_of(source, capability, cache, offer)
    info = info_of(kernels_of(usage_of(library), {}, {}), compile_s, request.target.architecture, None)
    return Built(never_called, lambda: info, lambda budget: code_of_library(source.name, library, budget))
