"""Each provider is one module that turns an implementation's files into a callable."""

from pathlib import Path

from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.worker.build.contract import BuildRequest, Built
from roofscope.profiling.worker.candidate.messages import Target
from roofscope.profiling.worker.failures import Unavailable


def build(request: BuildRequest) -> Built:
    """Build by the implementation's provider. Raises Refusal or BuildError."""
    # Imported on use: a machine without triton or cuda.core still runs the other providers.
    if request.target:
        return _build_without_gpu(request, request.target)
    match request.implementation.provider:
        case Provider.EAGER:
            from roofscope.profiling.worker.build.providers import eager as provider
        case Provider.COMPILE:
            from roofscope.profiling.worker.build.providers import compile as provider
        case Provider.TRITON:
            _require_gpu(request, "Triton")
            from roofscope.profiling.worker.build.providers import triton as provider
        case Provider.CUDA:
            _require_gpu(request, "CUDA C++")
            from roofscope.profiling.worker.build.providers import cuda as provider
        case Provider.CUDA_EXT:
            if not (
                request.entry and Path(request.entry.file).suffix in (".cpp", ".cc")
            ):  # which run anywhere
                _require_gpu(request, "CUDA C++")
            from roofscope.profiling.worker.build.providers import cuda_ext as provider
        case Provider.LIBRARY:
            _require_gpu(request, "Library")
            from roofscope.profiling.worker.build.providers import library as provider
    return provider.build(request)


def _build_without_gpu(request: BuildRequest, target: Target) -> Built:
    if target.interprets:
        from roofscope.profiling.worker.build.without_gpu import interpreted as maker
    elif request.implementation.provider is Provider.TRITON:
        from roofscope.profiling.worker.build.without_gpu import triton_compiled as maker
    else:
        from roofscope.profiling.worker.build.without_gpu import cuda_compiled as maker
    return maker.build(request)


def _require_gpu(request: BuildRequest, language: str) -> None:
    if request.device.type != "cuda":
        raise Unavailable(f"{language} kernels need an NVIDIA GPU; this run is on the CPU.")
