"""CuTe DSL: a file's ``run`` calls what ``cute.compile`` has made of its ``@cute.jit`` functions."""

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch

from roofscope.profiling.providers import Provider
from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.outcome import BuildInfo, BuiltKernel
from roofscope.profiling.traces.library_names import cute_name
from roofscope.profiling.worker.build.contract import BuildRequest, Built, FirstCall, run_of
from roofscope.profiling.worker.build.machine_code import Budget, sass_of
from roofscope.profiling.worker.build.own_file import module_of
from roofscope.profiling.worker.build.without_gpu.resource_usage import usage_in
from roofscope.profiling.worker.failures import Unavailable

_ELF = b"\x7fELF"
ARCHITECTURE, _LINES = "CUTE_DSL_ARCH", "CUTE_DSL_LINEINFO"  # which the DSL reads once, when it is imported
_SPECIFIC_FROM = (9, 0)  # it compiles for the target `a` from here on
_MOST_TOLD = 16  # kernels of which facts are kept


def build(request: BuildRequest) -> Built:
    """Load the file; the compiler runs at the first call, whose time is kept as compile time.

    Raises Unavailable without the DSL, which is imported here and not before: the variables that it reads
    then are this request's.
    """
    if request.has_lines:
        os.environ[_LINES] = "1"
    compiled = _Compiled(compiled_class())
    with compiled:
        module = module_of(request, f"{request.implementation.stem}.py")
    call = FirstCall(run_of(module, *request.inputs), compiled)
    architecture = _architecture(request.device)
    return Built(
        call, lambda: _info(compiled, call.seconds, architecture), lambda budget: _code(compiled, budget)
    )


def compiled_class() -> Any:
    """The class of what ``cute.compile`` returns; None in a version of the DSL that has another."""
    try:
        importlib.import_module("cutlass.cute")
    except ImportError as error:
        (package,) = Provider.CUTE.facts.packages
        raise Unavailable(f"{package.name} is not installed; install the `{package.extra}` extra.") from error
    with suppress(ImportError):
        executor = importlib.import_module("cutlass.base_dsl.jit_executor")
        return getattr(executor, "JitCompiledFunction", None)
    return None


class _Compiled:
    """Notes what is compiled while it is entered: the functions of the measured sizes, which come first.

    The DSL has no hook for it, and its own way to keep machine code (CUTE_DSL_KEEP) turns off the cache by
    which a ``@cute.jit`` function that is called directly is compiled once.
    """

    def __init__(self, of: Any) -> None:
        self.functions: list[Any] = []
        self._class = of
        self._made: Callable[..., None] | None = None

    def __enter__(self) -> None:
        if self._class is None:
            return
        made = self._made = self._class.__init__

        def noted(function: Any, *arguments: Any, **named: Any) -> None:
            made(function, *arguments, **named)
            self.functions.append(function)

        self._class.__init__ = noted

    def __exit__(self, *_: object) -> None:
        if self._class is not None:
            self._class.__init__ = self._made

    def cubins(self) -> list[bytes]:
        return [cubin for function in self.functions for cubin in _cubins(function)][:_MOST_TOLD]


def _cubins(function: Any) -> Iterator[bytes]:
    """The machine code that a compiled function holds: a constant of its host code, behind a short header."""
    with suppress(AttributeError, TypeError, RuntimeError):  # where the DSL keeps it otherwise, none is shown
        for operation in function.ir_module.body.operations:
            attributes = operation.operation.attributes
            if operation.operation.name != "llvm.mlir.global" or "value" not in attributes:
                continue
            content: bytes = getattr(attributes["value"], "value_bytes", b"")
            if (start := content.find(_ELF)) >= 0:
                yield content[start:]


def _info(compiled: _Compiled, compile_s: float, architecture: str) -> BuildInfo:
    kernels = [
        BuiltKernel(name, registers=usage.registers, spill_bytes=usage.local_bytes)
        for cubin in compiled.cubins()
        for name, usage in usage_in(cubin).items()
    ][:_MOST_TOLD]
    if not kernels:
        return BuildInfo(compile_s=compile_s, architecture=architecture)
    # Of several kernels, report the heaviest. Shared memory is asked for at the launch, and not known here.
    return BuildInfo(
        compile_s=compile_s,
        registers=max(kernel.registers or 0 for kernel in kernels),
        spill_bytes=max(kernel.spill_bytes or 0 for kernel in kernels),
        architecture=architecture,
        kernels=tuple(kernels),
    )


def _code(compiled: _Compiled, budget: Budget) -> Iterator[Code]:
    """Machine code alone: the DSL's PTX is gone once it is assembled."""
    for cubin in compiled.cubins():
        names = sorted(cute_name(name) or name for name in usage_in(cubin))
        yield from sass_of(", ".join(names) or "kernel", cubin, budget)


def _architecture(device: torch.device) -> str:
    return os.environ.get(ARCHITECTURE) or architecture_of(torch.cuda.get_device_capability(device))


def architecture_of(capability: tuple[int, int]) -> str:
    """The DSL's name of the exact target, such as ``sm_90a``."""
    return f"sm_{capability[0]}{capability[1]}{'a' if capability >= _SPECIFIC_FROM else ''}"
