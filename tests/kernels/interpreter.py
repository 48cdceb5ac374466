"""Triton kernels on the CPU, in a process of their own.

Triton reads TRITON_INTERPRET when it is imported and when a kernel is decorated. In the tests' own process
torch may have imported it long before, so a child sets the variable before it imports anything. Hence no
import of torch or triton at the top of this file.
"""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

Arrays = list[Any]  # of numpy, float64: bfloat16 has no numpy type, and every value fits


def start() -> ProcessPoolExecutor:
    """A pool of one interpreting process, for ``run``."""
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(max_workers=1, mp_context=spawn, initializer=_interpret)


def _interpret() -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    # numpy, which does the work, warns of NaN and infinity, which the tests feed in on purpose.
    os.environ["PYTHONWARNINGS"] = "ignore"
    import warnings

    warnings.simplefilter("ignore")


def run(path: Path, dtypes: list[str], inputs: Arrays) -> tuple[Arrays, list[str]]:
    """Call ``run`` of a Triton file on inputs of these dtypes. Gives its outputs and their dtypes."""
    import torch

    from profiling.catalog import load_module

    tensors = [torch.from_numpy(a).to(getattr(torch, d)) for a, d in zip(inputs, dtypes, strict=True)]
    result = load_module(path).run(*tensors)
    outputs = (result,) if isinstance(result, torch.Tensor) else result
    return [t.double().numpy() for t in outputs], [str(t.dtype).removeprefix("torch.") for t in outputs]
