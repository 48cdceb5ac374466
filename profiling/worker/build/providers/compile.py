"""torch.compile of the eager implementation; the variant is the mode.

Where ``eager.py`` has a function ``region``, only that is compiled, and the Python round it stays Python.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
import torch._inductor.compile_fx  # pyright: ignore[reportUnusedImport]  # or the first call would import it
from torch._dynamo import convert_frame, pgo
from torch._dynamo.utils import counters
from torch._inductor import config
from torch._inductor.codecache import PyCodeCache
from torch._inductor.graph import GraphLowering

from roofscope.profiling.planning.spec import REPLAYING_MODES
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.outcome import BuildInfo, CompileNotes
from roofscope.profiling.worker.build.compile_notes import Notebook, together
from roofscope.profiling.worker.build.contract import BuildRequest, Built, Call, Tensors, run_of
from roofscope.profiling.worker.build.inductor_kernels import kernels_of
from roofscope.profiling.worker.build.machine_code import Budget
from roofscope.profiling.worker.build.own_file import module_of
from roofscope.profiling.worker.build.triton_code import built_kernels, code_of, heaviest
from roofscope.profiling.worker.inputs import as_tuple

_POOL = config.compile_threads

# Compilations of each frame: a function, or the rest of one after a graph break.
_compilations: Any = getattr(convert_frame, "FRAME_COMPILE_COUNTER", None)


def build(request: BuildRequest) -> Built:
    """Dynamo compiles at the first call, and wherever a later one brings other shapes or values.

    Verification also calls with sizes other than the measured ones. Those calls go to a separate copy of the
    module, so that the counts, and the guards of each call, are those of the measured sizes alone.
    """
    mode = request.implementation.variant
    replays = mode in REPLAYING_MODES and request.device.type == "cuda"
    _set_threads(mode)
    _forget_shapes()
    _ledger.settle()
    _written.taken()
    _notebook.settle()
    measured = _Counted(_compiled(request, mode, replays=replays))
    others = _compiled(request, mode, replays=replays)
    measured_shapes: list[torch.Size] = []

    def call(*inputs: torch.Tensor) -> Tensors:
        shapes = [tensor.shape for tensor in inputs]  # of all, because the first may lack an axis
        if not measured_shapes:  # the measured sizes come first
            measured_shapes.extend(shapes)
        if shapes == measured_shapes:
            return measured(*inputs)
        outputs = others(*inputs)
        _ledger.settle()
        _written.taken()
        _notebook.settle()
        return outputs

    return Built(call, measured.info, measured.code)


def _compiled(request: BuildRequest, mode: str, *, replays: bool) -> Call:
    """``run`` of a fresh module, which has fresh code objects.

    Dynamo keeps at most 8 compilations per code object, and after that falls back to eager in silence.
    """
    module = module_of(request, "eager.py")
    run = run_of(module, *request.inputs)
    region: Call | None = getattr(module, "region", None)
    compiled: Call = torch.compile(region or run, mode=mode.replace("_", "-"))
    if replays:
        compiled = _replaying(compiled, copies_outputs=region is not None)
    if region is None:
        return compiled
    vars(module)["region"] = compiled  # where run finds it
    return run


def _replaying(compiled: Call, *, copies_outputs: bool) -> Call:
    """Calls that replay a CUDA graph: each writes its outputs over those of the one before.

    ``run`` may keep what regions return, so region outputs are copied, as PyTorch advises; a whole call's
    outputs are read before the next call.
    """

    def step(*inputs: torch.Tensor) -> Tensors:
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("in this mode torch.compile replays CUDA graphs of its own")
        torch.compiler.cudagraph_mark_step_begin()
        outputs = compiled(*inputs)
        if not copies_outputs:
            return outputs
        copies = tuple(output.clone() for output in as_tuple(outputs))
        return copies[0] if isinstance(outputs, torch.Tensor) else copies

    return step


def _set_threads(mode: str) -> None:
    """A pool of processes only where there is much to compile.

    Inductor starts one in each process, with torch imported once a core. A few kernels are compiled before
    it is ready, and it takes the cores from what is measured then.
    """
    if "TORCHINDUCTOR_COMPILE_THREADS" not in os.environ:  # which Inductor has read
        config.compile_threads = _POOL if "autotune" in mode else 1


def _forget_shapes() -> None:
    """A fresh module must not be compiled for any shape at once.

    Dynamo would do so, because it remembers by file and line which shapes have varied.
    """
    reset: Callable[[], None] | None = getattr(pgo, "reset_code_state", None)
    if reset:
        reset()


def _text_of(module: ModuleType) -> str:
    try:
        return Path(module.__file__ or "").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


class _Work(NamedTuple):
    """What Dynamo has done."""

    graphs: int = 0
    breaks: int = 0
    recompiles: int = 0
    cached: int = 0  # found compiled on disk

    @classmethod
    def so_far(cls) -> "_Work":
        again = sum(_compilations.values()) - len(_compilations) if _compilations else 0
        found = max(counters["inductor"]["fxgraph_cache_hit"], counters["aot_autograd"]["autograd_cache_hit"])
        return cls(counters["stats"]["unique_graphs"], sum(counters["graph_break"].values()), again, found)


class _Ledger:
    """Reads Dynamo's counters, which belong to the whole process, as differences."""

    def __init__(self) -> None:
        self._settled = _Work.so_far()

    @property
    def is_settled(self) -> bool:
        """Whether Dynamo has done nothing since ``settle``. It is cheap, because every call asks."""
        return counters["stats"]["unique_graphs"] == self._settled.graphs

    def settle(self) -> _Work:
        """What Dynamo did since the last time."""
        before, self._settled = self._settled, _Work.so_far()
        return _Work(*(now - then for now, then in zip(self._settled, before, strict=True)))


_ledger = _Ledger()
_notebook = Notebook()


class _Written:
    """What Inductor writes, by the hook that its own tests use; called for graphs found on disk, too."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        if hasattr(GraphLowering, "save_output_code"):
            GraphLowering.save_output_code = staticmethod(self._texts.append)

    def taken(self) -> list[str]:
        """What was written since the last time, each text once."""
        found = list(dict.fromkeys(self._texts))
        self._texts.clear()
        return found


_written = _Written()


class _Counted:
    """A compiled ``run``, with the time and the work of those calls in which Dynamo was busy."""

    def __init__(self, run: Call) -> None:
        self._run = run
        self._seconds = 0.0
        self._work = _Work()
        self._texts: list[str] = []
        self._notes = CompileNotes()

    def __call__(self, *inputs: torch.Tensor) -> Tensors:
        started = time.perf_counter()
        outputs = self._run(*inputs)
        if not (self._seconds and _ledger.is_settled):
            self._seconds += time.perf_counter() - started
            done = _ledger.settle()
            self._work = _Work(*(one + other for one, other in zip(self._work, done, strict=True)))
            self._texts += _written.taken()
            self._notes = together(self._notes, _notebook.settle())
        return outputs

    def info(self) -> BuildInfo:
        kernels = built_kernels(self._kernels())
        return BuildInfo(
            compile_s=self._seconds,
            registers=heaviest(kernel.registers for kernel in kernels),
            spill_bytes=heaviest(kernel.spill_bytes for kernel in kernels),
            shared_bytes=heaviest(kernel.shared_bytes for kernel in kernels),
            graph_count=self._work.graphs,
            graph_breaks=self._work.breaks,
            recompiles=None if _compilations is None else self._work.recompiles,
            cached_graphs=self._work.cached,
            kernels=kernels,
            compile_notes=self._notes,
        )

    def code(self, budget: Budget) -> Iterator[Code]:
        """Inductor's, a text a graph, and what Triton made of the kernels in it."""
        for number, text in enumerate(self._texts, 1):
            yield Code(CodeKind.INDUCTOR, f"graph {number} of {len(self._texts)}", text)
        yield from code_of(self._kernels(), budget)

    def _kernels(self) -> list[Any]:
        """Triton's, in the modules that Inductor made of these texts; none on a CPU."""
        texts = {text.strip() for text in self._texts}
        modules = [module for module in PyCodeCache.modules if _text_of(module) in texts]
        return [kernel for module in modules for kernel in kernels_of(list(vars(module).values()))]
