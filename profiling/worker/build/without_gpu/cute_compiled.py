"""The CuTe DSL for an architecture without a GPU: the file's ``run`` is called on tensors without contents.

So it compiles what it would compile there; what it calls then takes its arguments and launches nothing.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

from roofscope.profiling.worker.build.contract import BuildRequest, Built, Tensors
from roofscope.profiling.worker.build.providers import cute as provider
from roofscope.profiling.worker.build.without_gpu.stand_in import StandIn


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


def _without_launches(compiled: Any) -> AbstractContextManager[Any]:
    if not hasattr(compiled, "run_compiled_program"):
        return nullcontext()  # its call then fails for want of a driver, and says so
    return patch.object(compiled, "run_compiled_program", _nothing)


def _nothing(*_: object) -> None:
    """In the place of a launch."""


def _never_called(*_: object) -> Tensors:
    raise AssertionError("It was compiled for a GPU that is not here, and cannot be called.")
