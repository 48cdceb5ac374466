"""CUDA C++ for an architecture without a GPU: compiled by NVRTC, and not run.

The launcher is called on tensors without contents, so that its grids, blocks and shared memory are known.
"""

import ctypes
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.outcome import BuildInfo, BuiltKernel, Launch
from roofscope.profiling.worker.build import tensor_map
from roofscope.profiling.worker.build.bare_launch import bare_launch
from roofscope.profiling.worker.build.contract import (
    BuildRequest,
    Built,
    Tensors,
    double_instructions,
    run_of,
)
from roofscope.profiling.worker.build.machine_code import Budget, sass_of
from roofscope.profiling.worker.build.without_gpu.resource_usage import Usage, usage_in
from roofscope.profiling.worker.build.without_gpu.stand_in import DEVICE, StandIn
from roofscope.profiling.worker.failures import Refusal

_MOST_THREADS = 1024  # of a block
_MOST_TOLD = 16  # kernels of which facts are kept
_MANGLED = re.compile(r"_Z(?:N\d+\w*?)?(\d+)(\w+)")

Launched = dict[str, Launch]


class NotedProgram:
    """In the place of a CudaProgram: what a launcher launches is noted, by name, and not launched."""

    def __init__(self, gpu: StandIn, architecture: str) -> None:
        self.architecture = architecture
        self.device = DEVICE
        self.launched: Launched = {}
        self._gpu = gpu

    @property
    def multiprocessor_count(self) -> int:
        return self._gpu.multiprocessor_count

    def launch(
        self,
        name: str,
        grid: Any,
        block: Any,
        *_: object,
        shared_bytes: int = 0,
        overlaps: bool = False,
        cluster: int = 1,
        balanced: bool = False,
    ) -> None:
        """Raises Refusal and RuntimeError where a GPU of the architecture would not launch it."""
        del overlaps, cluster, balanced
        blocks, threads = _three(grid), _three(block)
        if 0 in blocks:
            return
        if math.prod(threads) > _MOST_THREADS:
            raise RuntimeError(
                f"{name} could not be launched: its block has {math.prod(threads)} threads, and "
                f"{_MOST_THREADS} are the most."
            )
        if shared_bytes > self._gpu.block_shared_bytes:
            raise Refusal(
                f"{self._gpu.name} gives a block {self._gpu.block_shared_bytes} B of shared memory, less "
                f"than the {shared_bytes} B asked for."
            )
        self.launched[name] = Launch(
            math.prod(blocks), math.prod(threads), None, shared_bytes, None, blocks, threads
        )


def build(request: BuildRequest) -> Built:
    """Compile now. Raises Refusal where the launcher needs a newer device, and BuildError."""
    from roofscope.profiling.worker.build.providers import cuda as provider

    assert request.target is not None
    gpu = StandIn(request.target.architecture)
    architecture = provider.architecture_of(gpu.capability)
    source, run, names = _source(request, gpu)
    dtype = None if names else request.workload.dtype
    started = time.perf_counter()
    module, ptx = provider.compiled(source, dtype, architecture, names)
    compile_s = time.perf_counter() - started
    cubin = bytes(module.code)
    program = NotedProgram(gpu, architecture)
    with gpu.here(), patch.object(tensor_map, "_encoded", _no_map):
        run(program, *gpu.tensors(request.target.layouts))
    symbols = {str(name): _text(symbol) for name, symbol in _symbols(module).items()}
    kernels = kernels_of(usage_in(cubin), program.launched, symbols)
    info = info_of(kernels, compile_s, architecture, double_instructions(ptx) if ptx else None)

    def code(budget: Budget) -> Iterator[Code]:
        if ptx:
            yield Code(CodeKind.PTX, source.stem, ptx)
        yield from sass_of(source.stem, cubin, budget)

    return Built(never_called, lambda: info, code)


def _source(request: BuildRequest, gpu: StandIn) -> tuple[Path, Callable[..., Any], list[str]]:
    """The file, what launches its kernels on a program and inputs, and a user's kernel by name."""
    if request.entry and request.entry.offer:
        launch = bare_launch(request.entry, request.entry.offer, request.workload.dtype)
        return Path(request.entry.file), launch.run, [launch.kernel]
    stem = request.implementation.stem
    launcher = load_module(request.folder / f"{stem}.py")
    needed: tuple[int, int] = getattr(launcher, "MINIMUM_COMPUTE_CAPABILITY", (7, 5))
    if gpu.capability < needed:
        raise Refusal(
            f"{request.implementation.key} needs compute capability {needed[0]}.{needed[1]}; "
            f"{gpu.architecture} has {gpu.capability[0]}.{gpu.capability[1]}."
        )
    run = run_of(launcher, *(("program", *request.inputs) if request.inputs else ()))
    return request.folder / f"{stem}.cu", run, []


def kernels_of(usages: dict[str, Usage], launched: Launched, symbols: dict[str, str]) -> list[BuiltKernel]:
    """Those launched, or all that were compiled where none is known to be."""
    if not launched:
        return [_built(_plain(name), usage, None) for name, usage in list(usages.items())[:_MOST_TOLD]]
    return [
        _built(name, usages.get(symbols.get(name, name)), launch)
        for name, launch in list(launched.items())[:_MOST_TOLD]
    ]


def _built(name: str, usage: Usage | None, launch: Launch | None) -> BuiltKernel:
    if usage is None:
        return BuiltKernel(name, launch=launch)
    if launch:
        dynamic = launch.shared_bytes or 0
        launch = Launch(
            launch.blocks,
            launch.threads,
            usage.registers,
            dynamic + usage.shared_bytes,
            None,
            launch.grid,
            launch.block,
        )
    return BuiltKernel(name, usage.registers, usage.local_bytes, usage.shared_bytes, launch=launch)


def info_of(
    kernels: list[BuiltKernel], compile_s: float, architecture: str, doubles: int | None
) -> BuildInfo:
    """With the figures of the heaviest."""
    return BuildInfo(
        compile_s=compile_s,
        registers=max((one.registers for one in kernels if one.registers is not None), default=None),
        spill_bytes=max((one.spill_bytes for one in kernels if one.spill_bytes is not None), default=None),
        shared_bytes=max((one.shared_bytes for one in kernels if one.shared_bytes is not None), default=None),
        architecture=architecture,
        double_instructions=doubles,
        kernels=tuple(kernels),
    )


def _symbols(module: Any) -> dict[Any, Any]:
    """The names of a user's kernels in C++, and what the compiler calls them."""
    found: Any = getattr(module, "symbol_mapping", None) or getattr(module, "_sym_map", None) or {}
    return dict(found)


def _text(symbol: object) -> str:
    return symbol.decode(errors="replace") if isinstance(symbol, bytes) else str(symbol)


def _plain(name: str) -> str:
    """``add`` of ``_Z3addPKfPf``; as it is where that is not so plain."""
    match = _MANGLED.match(name)
    return match[2][: int(match[1])] if match else name


def _no_map(*_: object) -> Any:
    """In the place of TMA's descriptor, which the driver makes."""
    return (ctypes.c_ulonglong * 16)()


def _three(extent: Any) -> tuple[int, int, int]:
    sizes = extent if isinstance(extent, tuple) else (extent,)
    x, y, z = (*map(int, sizes), 1, 1)[:3]
    return x, y, z


def never_called(*_: torch.Tensor) -> Tensors:
    raise AssertionError("It was compiled for a GPU that is not here, and cannot be called.")
