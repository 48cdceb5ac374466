"""Each provider is one module of its name, which turns an implementation's files into a callable."""

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from roofscope.profiling.providers import Provider
from roofscope.profiling.worker.build.contract import BuildRequest, Built
from roofscope.profiling.worker.candidate.messages import Target
from roofscope.profiling.worker.failures import Unavailable

_PLAIN_CPP = (".cpp", ".cc")  # which run anywhere
_WITHOUT_GPU = "roofscope.profiling.worker.build.without_gpu"


class Builder(Protocol):
    """What a provider's module has."""

    def build(self, request: BuildRequest) -> Built:
        """Raises Refusal or BuildError."""
        ...


def builder_of(provider: Provider) -> Builder:
    """A provider's module. Raises Unavailable without the packages that it needs.

    Imported on use: a machine without triton or cuda.core still runs the other providers.
    """
    return _builder(f"{__name__}.{provider}")


def _builder(module: str) -> Builder:
    return cast(Builder, import_module(module))


def build(request: BuildRequest) -> Built:
    """Build by the implementation's provider. Raises Refusal or BuildError."""
    if request.target:
        return _build_without_gpu(request, request.target)
    provider = request.implementation.provider
    if provider.facts.needs_gpu and not _is_plain_cpp(request):
        _require_gpu(request, provider.facts.language)
    return builder_of(provider).build(request)


def _is_plain_cpp(request: BuildRequest) -> bool:
    return request.entry is not None and Path(request.entry.file).suffix in _PLAIN_CPP


def _build_without_gpu(request: BuildRequest, target: Target) -> Built:
    name = "interpreted" if target.interprets else f"{request.implementation.provider}_compiled"
    return _builder(f"{_WITHOUT_GPU}.{name}").build(request)


def _require_gpu(request: BuildRequest, language: str) -> None:
    if request.device.type != "cuda":
        raise Unavailable(f"{language} kernels need an NVIDIA GPU; this run is on the CPU.")
