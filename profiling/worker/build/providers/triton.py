"""Triton: a file's ``run`` launches its ``@triton.jit`` kernels."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import (
    BuildRequest,
    Built,
    FirstCall,
    double_instructions,
    run_of,
)
from roofscope.profiling.worker.build.own_file import module_of
from roofscope.profiling.worker.build.triton_code import built_kernels, code_of, spill_bytes
from roofscope.profiling.worker.failures import Unavailable

try:
    from triton import knobs
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction
except ImportError as error:
    raise Unavailable("Triton is not installed here; install the `triton` package.") from error


def build(request: BuildRequest) -> Built:
    """Load the file; the compiler runs at the first call, whose time is kept as compile time."""
    module = module_of(request, f"{request.implementation.stem}.py")
    launches = _Launches()
    call = FirstCall(run_of(module, *request.inputs), launches)
    return Built(
        call,
        lambda: _info(module, launches, call.seconds),
        lambda budget: code_of(_launched(module, launches), budget),
    )


class _Launches:
    """Records which kernels a call launches while it is entered.

    The last one of each name counts: an autotuner launches all its candidates before the winner.
    """

    def __init__(self) -> None:
        self._last: dict[str, object] = {}

    def __enter__(self) -> None:
        knobs.runtime.launch_enter_hook.add(self._note)

    def __exit__(self, *_: object) -> None:
        knobs.runtime.launch_enter_hook.remove(self._note)

    def __contains__(self, kernel: Any) -> bool:
        return kernel.function in self._last.values()

    def _note(self, metadata: Any) -> None:
        facts = metadata.get()
        self._last[facts["name"]] = facts["function"]


def _launched(module: ModuleType, launches: _Launches) -> list[Any]:
    """Those that the call launches; where no launch was seen, all that are compiled."""
    kernels = [kernel for function in _functions(module) for kernel in _compiled(function)]
    return [kernel for kernel in kernels if kernel in launches] or kernels


def _info(module: ModuleType, launches: _Launches, compile_s: float) -> BuildInfo:
    kernels = _launched(module, launches)
    winners = [str(w) for w in (_winner(value) for value in vars(module).values()) if w]
    if not kernels:
        return BuildInfo(compile_s=compile_s)
    # Of several kernels, report the heaviest.
    return BuildInfo(
        compile_s=compile_s,
        registers=max(kernel.n_regs or 0 for kernel in kernels),
        spill_bytes=max(spill_bytes(kernel) or 0 for kernel in kernels),
        shared_bytes=max(kernel.metadata.shared for kernel in kernels),
        architecture=f"sm_{kernels[-1].metadata.target.arch}",
        double_instructions=sum(double_instructions(kernel.asm.get("ptx", "")) for kernel in kernels),
        configuration="; ".join(winners) or None,
        kernels=built_kernels(kernels),
    )


def _functions(module: ModuleType) -> Iterator[JITFunction[Any]]:
    for value in vars(module).values():
        while _is(value, Autotuner, Heuristics):
            value = value.fn
        if _is(value, JITFunction):
            yield value


def _is(value: object, *kinds: type) -> bool:
    """By its class alone: ``isinstance`` asks the value too, and a file's own may answer with an error."""
    return issubclass(type(value), kinds)


def _compiled(function: Any) -> Iterator[Any]:
    # The cache's tuple has grown over Triton's versions; its first part is still the kernels by key.
    for entry in function.device_caches.values():
        for kernel in entry[0].values():
            if hasattr(kernel, "n_regs"):
                yield kernel


def _winner(value: object) -> object:
    # The winner of the last call, which has the measured sizes.
    return getattr(value, "best_config", None) if _is(value, Autotuner) else None
