"""What tests of the kernels share: processes that interpret Triton, and calls of a version by either way."""

import importlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.worker.inputs import as_tuple
from roofscope.tests.kernels import compiled_before, interpreter

Tensors = tuple[torch.Tensor, ...]
Call = Callable[..., Tensors]


@pytest.fixture(scope="session")
def interpreters() -> Iterator[ProcessPoolExecutor]:
    """As many as there are processors, among all of pytest-xdist's processes; for ``interpreter.run``."""
    shared_by = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with interpreter.start(max((os.cpu_count() or 1) // shared_by, 1)) as pool:
        yield pool


@pytest.fixture
def run(request: pytest.FixtureRequest, provider: str) -> Call:
    """Calls a kernel's eager version, or its Triton version in the interpreting process.

    The module's TRITON says which file that is, by kernel.
    """
    if provider == "triton":
        pytest.importorskip("triton", reason="Triton is not installed here")
        pool = request.getfixturevalue("interpreters")

    def run(kernel: str, *inputs: torch.Tensor) -> Tensors:
        if provider == "eager":
            return as_tuple(load_module(LIBRARY / kernel / "eager.py").run(*inputs))
        names = [str(x.dtype).removeprefix("torch.") for x in inputs]
        arrays = [x.double().numpy() for x in inputs]
        path = LIBRARY / kernel / f"{request.module.TRITON[kernel]}.py"
        outputs, dtypes = pool.submit(interpreter.run, path, names, arrays).result()
        return tuple(torch.from_numpy(x).to(getattr(torch, d)) for x, d in zip(outputs, dtypes, strict=True))

    return run


@pytest.fixture(scope="session", autouse=True)
def compiles_once() -> Iterator[None]:
    """Half a second and more a compilation, of which most are those of the last time."""
    with pytest.MonkeyPatch.context() as patch:
        with suppress(ImportError):
            cuda: Any = importlib.import_module("roofscope.profiling.worker.build.providers.cuda")
            kept = compiled_before.keeping(cuda.compile_source, Path(cuda.__file__), compiled_before.FOLDER)
            patch.setattr(cuda, "compile_source", kept)
        yield
