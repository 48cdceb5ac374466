"""The CuTe DSL for an architecture without a GPU: the file's ``run`` is called on tensors without contents.

So it compiles what it would compile there; what it calls then takes its arguments and launches nothing.
"""

import importlib
import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from roofscope.profiling.worker.build.contract import BuildRequest, Built, Tensors
from roofscope.profiling.worker.build.providers import cute as provider
from roofscope.profiling.worker.build.without_gpu.stand_in import StandIn
from roofscope.profiling.worker.failures import Refusal


def build(request: BuildRequest) -> Built:
    """Compile now. Raises Unavailable without the DSL, and what the file's ``run`` and the compiler raise."""
    assert request.target is not None
    gpu = StandIn(request.target.architecture)
    # Read when the DSL is imported, which no process does before it builds its one implementation.
    os.environ[provider.ARCHITECTURE] = provider.architecture_of(gpu.capability)
    compiled = provider.compiled_class()
    with gpu.here(), _without_launches(compiled):
        built = provider.build(request)
        built.call(*gpu.tensors(request.target.layouts))
    info = built.info()
    return Built(_never_called, lambda: info, built.code)


@contextmanager
def _without_launches(compiled: Any) -> Generator[None]:
    """Where the DSL has these names no longer, it says itself that it finds no driver."""
    runtime = importlib.import_module("cutlass.cute.runtime")
    with ExitStack() as stack:
        for owner, name, instead in (
            (compiled, "run_compiled_program", _nothing),
            (runtime, "from_dlpack", _no_contents),
        ):
            if hasattr(owner, name):
                stack.enter_context(patch.object(owner, name, instead))
        yield


def _no_contents(*_: object, **__: object) -> Any:
    raise Refusal(
        "its run hands tensors to from_dlpack, which asks the GPU itself; with make_ptr of their addresses "
        "it can be compiled without one."
    )


def _nothing(*_: object) -> None:
    """In the place of a launch."""


def _never_called(*_: object) -> Tensors:
    raise AssertionError("It was compiled for a GPU that is not here, and cannot be called.")
