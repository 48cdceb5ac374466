"""What compilers do once in a process, done ahead in the server of candidates' processes.

Each fork of it would pay for that again: Triton reads its library of half a gigabyte to name its version,
PyTorch's compiler imports 150 modules and reads torch's sources.
"""

import importlib
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from enum import IntFlag

from roofscope.profiling.planning.spec import Implementation, Provider


class Compiler(IntFlag):
    """What a process finds imported, with its first work done."""

    NONE = 0
    TRITON = 1
    INDUCTOR = 2

    @classmethod
    def of(cls, implementations: Iterable[Implementation]) -> "Compiler":
        """Those that implementations need."""
        providers = {one.provider for one in implementations}
        if Provider.COMPILE in providers:
            return cls.INDUCTOR | cls.TRITON  # into which it compiles
        return cls.TRITON if Provider.TRITON in providers else cls.NONE


class Compilers:
    """Those of this process, which must not use CUDA: its forks do."""

    def __init__(self) -> None:
        self._ready = Compiler.NONE

    def make_ready(self, wanted: Compiler) -> None:
        """What fails is left to the build, which reports it."""
        from roofscope.profiling.worker.gc_policy import freeze_imports

        missing = wanted & ~self._ready
        self._ready |= missing
        for compiler, prepare in ((Compiler.TRITON, _prepare_triton), (Compiler.INDUCTOR, _prepare_inductor)):
            if compiler in missing:
                with without_cuda(), suppress(Exception):
                    prepare()
        if missing:
            freeze_imports()


@contextmanager
def without_cuda() -> Generator[None]:
    """Let imports that count devices ask NVML: after a call of CUDA's runtime no fork could use CUDA."""
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"]


def _prepare_triton() -> None:
    """Its key is part of each kernel's name on disk: a hash over its own library.

    The folder gets its name in the environment, too. Inductor would name another one there once it compiles
    in this process, which it does in some runs and leaves to its helpers in others: what the one run keeps
    in one folder, the next would look for in the other.
    """
    importlib.import_module("triton.runtime.cache").triton_key()
    os.environ.setdefault("TRITON_CACHE_DIR", str(importlib.import_module("triton.knobs").cache.dir))


def _prepare_inductor() -> None:
    """Without tracing anything: Dynamo reads the state of the GPU's generator, which starts CUDA."""
    importlib.import_module("roofscope.profiling.worker.build.providers.compile")
    for step in (_read_torch_sources, _register_backends):
        with suppress(Exception):  # names of torch's own, which a version may lack
            step()


def _read_torch_sources() -> None:
    """A hash over them is part of each graph's name on disk."""
    importlib.import_module("torch._inductor.codecache").torch_key()


def _register_backends() -> None:
    importlib.import_module("torch._inductor.codegen.common").init_backend_registration()
