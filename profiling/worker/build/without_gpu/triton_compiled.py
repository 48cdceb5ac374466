"""Triton for an architecture without a GPU: the file's ``run`` is called on tensors without contents.

So its own launcher chooses grid, tile and warps as it would there; each kernel that it launches is compiled,
and none runs.
"""

from collections.abc import Iterator
from unittest.mock import patch

import triton.testing
from msgspec.structs import replace

from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import BuildRequest, Built, Tensors
from roofscope.profiling.worker.build.machine_code import Budget
from roofscope.profiling.worker.build.providers import triton as provider
from roofscope.profiling.worker.build.without_gpu.stand_in import DEVICE, StandIn
from roofscope.profiling.worker.build.without_gpu.triton_driver import WithoutGpu


def build(request: BuildRequest) -> Built:
    """Compile now. Raises what the file's ``run`` and Triton's compiler raise."""
    assert request.target is not None
    gpu = StandIn(request.target.architecture)
    driver = WithoutGpu(gpu, DEVICE)
    driver.activate()
    with gpu.here(), patch.object(triton.testing, "do_bench", driver.first_that_compiles):
        built = provider.build(request)
        built.call(*gpu.tensors(request.target.layouts))
    info = _with_launches(built.info(), driver)

    def code(budget: Budget) -> Iterator[Code]:
        yield from built.code(budget)

    return Built(never_called, lambda: info, code)


def never_called(*_: object) -> Tensors:
    """In the place of a call: what was compiled for a GPU that is not here."""
    raise AssertionError("It was compiled for a GPU that is not here, and cannot be called.")


def _with_launches(info: BuildInfo, driver: WithoutGpu) -> BuildInfo:
    kernels = tuple(
        replace(kernel, launch=driver.launches.by_name.get(kernel.name)) for kernel in info.kernels
    )
    tuned = info.configuration and f"{info.configuration} (the first that fits: nothing was timed)"
    return replace(info, kernels=kernels, configuration=tuned)
