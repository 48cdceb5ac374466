"""Triton for an architecture without a GPU: the file's ``run`` is called on tensors without contents.

So its own launcher chooses grid, tile and warps as it would there; each kernel that it launches is compiled,
and none runs.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import triton.testing
from msgspec.structs import replace
from triton.compiler.compiler import CompiledKernel

from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import (
    BuildRequest,
    Built,
    Tensors,
    double_instructions,
)
from roofscope.profiling.worker.build.providers import triton as provider
from roofscope.profiling.worker.build.triton_code import built_kernels, code_of, heaviest
from roofscope.profiling.worker.build.without_gpu.stand_in import DEVICE, StandIn
from roofscope.profiling.worker.build.without_gpu.triton_driver import NotedLaunches, WithoutGpu


def build(request: BuildRequest) -> Built:
    """Compile now. Raises what the file's ``run`` and Triton's compiler raise."""
    assert request.target is not None
    gpu = StandIn(request.target.architecture)
    driver = WithoutGpu(gpu, DEVICE)
    driver.activate()
    with (
        gpu.here(),
        patch.object(triton.testing, "do_bench", driver.first_that_compiles),
        _loaded() as loaded,
    ):
        built = provider.build(request)
        built.call(*gpu.tensors(request.target.layouts))
    kernels = [kernel for kernel in loaded if driver.launches.has(kernel)]
    told = built.info()
    info = _info(kernels, driver.launches, gpu.architecture, told)
    return Built(_never_called, lambda: info, lambda budget: code_of(kernels, budget))


@contextmanager
def _loaded() -> Generator[list[Any]]:
    """The kernels that are loaded meanwhile, of whatever file they are."""
    found: list[Any] = []
    load: Any = CompiledKernel._init_handles  # pyright: ignore[reportPrivateUsage]

    def noting(kernel: Any) -> None:
        load(kernel)
        if not any(kernel is one for one in found):
            found.append(kernel)

    with patch.object(CompiledKernel, "_init_handles", noting):
        yield found


def _info(kernels: list[Any], launches: NotedLaunches, architecture: str, told: BuildInfo) -> BuildInfo:
    """Of several kernels, the figures of the heaviest."""
    built = tuple(
        replace(one, launch=launches.of(kernel)) for kernel in kernels for one in built_kernels([kernel])
    )
    tuned = told.configuration and f"{told.configuration} (the first that fits: nothing was timed)"
    return BuildInfo(
        compile_s=told.compile_s,
        registers=heaviest(kernel.registers for kernel in built),
        spill_bytes=heaviest(kernel.spill_bytes for kernel in built),
        shared_bytes=heaviest(kernel.shared_bytes for kernel in built),
        architecture=architecture,
        configuration=tuned,
        double_instructions=sum(double_instructions(kernel.asm.get("ptx", "")) for kernel in kernels),
        kernels=built,
    )


def _never_called(*_: object) -> Tensors:
    raise AssertionError("It was compiled for a GPU that is not here, and cannot be called.")
