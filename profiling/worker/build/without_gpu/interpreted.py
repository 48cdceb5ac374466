"""Triton in its interpreter: the file's ``run`` on the CPU, block after block, in NumPy.

Triton reads TRITON_INTERPRET when it is imported and when a kernel is decorated, so this is for processes of
a server that has it in its environment.
"""

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.roofline.architecture import DEFAULT_ARCHITECTURE
from roofscope.profiling.worker.build.contract import BuildRequest, Built, FirstCall, run_of
from roofscope.profiling.worker.build.own_file import module_of
from roofscope.profiling.worker.build.without_gpu.stand_in import StandIn
from roofscope.profiling.worker.failures import Unavailable

try:
    from triton import knobs
    from triton._C.libtriton import interpreter as native
    from triton.runtime import interpreter

    from roofscope.profiling.worker.build.without_gpu.triton_driver import WithoutGpu
except ImportError as error:
    raise Unavailable("Triton is not installed here; install the `triton` package.") from error

_CPU = torch.device("cpu")


def build(request: BuildRequest) -> Built:
    """Load the file; nothing is compiled. Raises what the file raises."""
    assert knobs.runtime.interpret, "this process has no TRITON_INTERPRET"
    _mend()
    architecture = request.target.architecture if request.target else DEFAULT_ARCHITECTURE
    driver = WithoutGpu(StandIn(architecture), _CPU)
    driver.activate()
    call = FirstCall(run_of(module_of(request, f"{request.implementation.stem}.py"), *request.inputs))
    return Built(call, lambda: BuildInfo(compile_s=0.0))


def _mend() -> None:
    """Where the interpreter computes something else than a GPU does."""
    np.seterr(all="ignore")  # it warns of NaN and infinity, which are fed in on purpose
    function: Any = interpreter.InterpretedFunction
    function.run = _run_of(function.run)
    builder: Any = interpreter.InterpreterBuilder
    builder.create_dot = _dot_of(builder.create_dot)
    if not hasattr(native, "fma_fp32"):  # before Triton 3.9 it rounds twice
        builder.create_fma = _fused()


class _WarmedUp:
    """What ``warmup`` gives: the kernel, and figures that launchers divide by, of which none is known."""

    n_regs, n_spills = 32, 0

    def __init__(self, function: Any) -> None:
        self.metadata = SimpleNamespace(shared=1024, num_warps=4)
        self._function = function

    def _init_handles(self) -> None:
        pass

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *arguments, **named: self._function.run(*arguments, grid=grid, warmup=False, **named)


def _run_of(run: Any) -> Any:
    def run_or_warm_up(self: Any, *arguments: Any, grid: Any, warmup: bool, **named: Any) -> Any:
        if warmup:
            return _WarmedUp(self)
        return run(self, *arguments, grid=grid, warmup=False, **named)

    return run_or_warm_up


def _dot_of(dot: Any) -> Any:
    """It takes the bits of bfloat16 for integers (Triton up to 3.9)."""

    def create_dot(self: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
        return dot(self, _widened(a), _widened(b), d, *rest)

    return create_dot


def _widened(handle: Any) -> Any:
    """bfloat16 as the float32 of the same value, in which products of it are exact."""
    if not handle.dtype.scalar.is_bf16() or handle.data.dtype != np.uint16:
        return handle
    bits = handle.data.astype(np.uint32) << 16
    return interpreter.TensorHandle(bits.view(np.float32), interpreter.tl.float32)


def _fused() -> Any:
    fmaf = ctypes.CDLL("libm.so.6").fmaf
    fmaf.argtypes, fmaf.restype = [ctypes.c_float] * 3, ctypes.c_float
    fused = np.frompyfunc(fmaf, 3, 1)

    def create_fma(_: Any, x: Any, y: Any, z: Any) -> Any:
        data = np.asarray(fused(x.data, y.data, z.data), np.float32)
        return interpreter.TensorHandle(data, z.dtype.scalar)

    return create_fma
