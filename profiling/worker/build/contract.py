"""What a provider gets and returns, and what providers share."""

import inspect
import re
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch

from roofscope.profiling.planning.one_file.parts import Entry
from roofscope.profiling.planning.spec import Implementation, Workload
from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.machine_code import Budget
from roofscope.profiling.worker.candidate.messages import Target
from roofscope.profiling.worker.failures import BuildError

Tensors = torch.Tensor | tuple[torch.Tensor, ...]
Call = Callable[..., Tensors]  # of a kernel on its inputs


@dataclass(frozen=True)
class BuildRequest:
    """What a provider builds, and for which device."""

    implementation: Implementation
    folder: Path
    workload: Workload
    device: torch.device
    inputs: tuple[str, ...] = ()  # names of the spec's inputs, which ``run`` must take; empty: no check
    entry: Entry | None = None  # how a user's file is called, as it stands
    has_lines: bool = False  # machine code names the lines of its source, which changes no instruction
    target: Target | None = None  # a GPU that is not here, to compile for or to interpret


def _no_code(_budget: Budget) -> Iterable[Code]:
    return ()


@dataclass(frozen=True)
class Built:
    """``call`` takes the spec's inputs in order and returns its outputs.

    ``info`` and ``code`` are read once the call is settled: compilers that run at the first call know nothing
    before it. ``code`` keeps to its budget and says what it had no time for.
    """

    call: Call
    info: Callable[[], BuildInfo]
    code: Callable[[Budget], Iterable[Code]] = _no_code  # what the compiler made for the calls so far


class FirstCall:
    """A callable whose compiler runs at its first call; ``seconds`` is how long that call took.

    ``witness`` is entered for that call alone.
    """

    def __init__(self, run: Call, witness: AbstractContextManager[object] | None = None) -> None:
        self._run = run
        self._witness = witness or nullcontext()
        self.seconds = 0.0

    def __call__(self, *inputs: torch.Tensor) -> Tensors:
        if self.seconds:
            return self._run(*inputs)
        started = time.perf_counter()
        with self._witness:
            outputs = self._run(*inputs)
        self.seconds = time.perf_counter() - started
        return outputs


# In PTX ``fma.rn.f64 %fd1, ...``; moves, loads and conversions cost the double units nothing or little.
_DOUBLE = re.compile(
    r"^\s*(?:@!?%\w+\s+)?(?:add|sub|mul|fma|mad|div|rcp|sqrt|rsqrt|min|max|setp|copysign)(?:\.\w+)*\.f64\b",
    re.MULTILINE,
)


def double_instructions(ptx: str) -> int:
    """How many instructions of this PTX compute in double precision."""
    return len(_DOUBLE.findall(ptx))


def run_of(module: ModuleType, *arguments: str) -> Call:
    """A file's ``run``. Raises BuildError where there is none, or it cannot take these arguments.

    This is checked before the first call, because a TypeError of the call itself looks like one of ours.
    """
    run: Call | None = getattr(module, "run", None)
    name = Path(module.__file__ or "").name
    if not callable(run):
        raise BuildError(f"{name} has no function run; it must compute the kernel's outputs.", "")
    try:
        signature = inspect.signature(run)
    except ValueError:  # the signature of some callables written in C is not known
        return run
    try:
        if arguments:
            signature.bind(*arguments)
    except TypeError as error:
        code = getattr(inspect.unwrap(run), "__code__", None)
        where = f"{name}:{code.co_firstlineno}" if code else name
        raise BuildError(
            f"{where}: run cannot be called with ({', '.join(arguments)}): {error}.", ""
        ) from None
    return run
