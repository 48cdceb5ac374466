"""Triton kernels on the CPU, in a process of their own.

Triton reads TRITON_INTERPRET when it is imported and when a kernel is decorated. In the tests' own process
torch may have imported it long before, so a child sets the variable before it imports anything. Hence no
import of torch or triton at the top of this file.

ROOFSCOPE_TRITON=3.6.0 names another Triton than this environment's: that of .tools/triton-3.6.0, with the
NumPy that lies there too. `make test-all` puts them there; torch stays this environment's.
"""

import ctypes
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

OTHER = os.environ.get("ROOFSCOPE_TRITON")  # version of the other Triton, None for this environment's

Arrays = list[Any]  # of numpy, float64: bfloat16 has no numpy type, and every value fits


def start(processes: int | None = 1) -> ProcessPoolExecutor:
    """A pool of interpreting processes, for ``run``."""
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(max_workers=processes, mp_context=spawn, initializer=_interpret)


def _interpret() -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    # numpy, which does the work, warns of NaN and infinity, which the tests feed in on purpose.
    os.environ["PYTHONWARNINGS"] = "ignore"
    import warnings

    warnings.simplefilter("ignore")
    if OTHER:
        sys.path.insert(0, str(Path(__file__).parents[2] / ".tools" / f"triton-{OTHER}"))
    _list_the_language_once()
    _fuse()
    _round_to_fp8()


def _list_the_language_once() -> None:
    """Else the interpreter looks for what to patch at each call of a function: a third of its time."""
    import inspect

    from triton.language.core import is_builtin
    from triton.runtime import interpreter

    names: dict[Any, list[str]] = {}

    def patch_builtin(language: Any, builder: Any, *scope: Any) -> None:
        if language not in names:  # and so nothing of it is patched
            members = inspect.getmembers(language)
            names[language] = [name for name, member in members if is_builtin(member)]
        if not all(is_builtin(getattr(language, name)) for name in names[language][:1]):
            return  # a function that calls this one has patched all of it
        for name in names[language]:
            interpreter._patch_attr(language, name, getattr(language, name), builder, *scope)

    interpreter._patch_builtin = patch_builtin


def _fuse() -> None:
    """Before Triton 3.9 the interpreter rounds tl.fma twice; a GPU, and what Triton compiles for it, once."""
    import numpy as np
    from triton._C.libtriton import interpreter as native
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    if hasattr(native, "fma_fp32"):  # https://github.com/triton-lang/triton/pull/11641
        return
    fmaf = ctypes.CDLL("libm.so.6").fmaf
    fmaf.argtypes, fmaf.restype = [ctypes.c_float] * 3, ctypes.c_float
    fused = np.frompyfunc(fmaf, 3, 1)

    def create_fma(_: Any, x: Any, y: Any, z: Any) -> Any:
        assert z.data.dtype == np.float32
        return TensorHandle(np.asarray(fused(x.data, y.data, z.data), np.float32), z.dtype.scalar)

    InterpreterBuilder.create_fma = create_fma


def _round_to_fp8() -> None:
    """The interpreter cuts off what E4M3 has no room for, where a GPU rounds halves to even."""
    import torch
    from triton import language as tl
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    convert: Any = InterpreterBuilder.create_fp_to_fp

    def create_fp_to_fp(builder: Any, source: Any, target: Any, rounding: Any) -> Any:
        if source.dtype.scalar != tl.float32 or target.scalar != tl.float8e4nv:
            return convert(builder, source, target, rounding)
        codes = torch.from_numpy(source.data.copy()).to(torch.float8_e4m3fn)
        return TensorHandle(codes.view(torch.uint8).numpy(), tl.float8e4nv)

    InterpreterBuilder.create_fp_to_fp = create_fp_to_fp


def version() -> str:
    """Of the Triton that interprets."""
    import triton

    return triton.__version__


def run(path: Path, dtypes: list[str], inputs: Arrays) -> tuple[Arrays, list[str]]:
    """Call ``run`` of a Triton file on inputs of these dtypes. Gives its outputs and their dtypes."""
    import torch

    from roofscope.profiling.planning.catalog import load_module

    tensors = [torch.from_numpy(a).to(getattr(torch, d)) for a, d in zip(inputs, dtypes, strict=True)]
    result = load_module(path).run(*tensors)
    outputs = (result,) if isinstance(result, torch.Tensor) else result
    return [t.double().numpy() for t in outputs], [str(t.dtype).removeprefix("torch.") for t in outputs]
