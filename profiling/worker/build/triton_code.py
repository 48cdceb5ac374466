"""What Triton made of kernels: of a file's own, and of those that Inductor writes."""

from collections.abc import Iterable, Iterator
from typing import Any

from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.outcome import BuiltKernel
from roofscope.profiling.worker.build.machine_code import Budget, sass_of

_KINDS = (CodeKind.TTIR, CodeKind.TTGIR, CodeKind.LLIR, CodeKind.PTX)
_MOST_KERNELS = 16
_MOST_CONSTANTS = 32
_MOST_COUNT = 2**31 - 1
_LONGEST = 120  # characters of a name or a value
# The driver says how many bytes of local memory a thread has; Triton's driver.c and torch's static launcher
# divide that by the size of a register and call the quotient n_spills.
_REGISTER_BYTES = 4


def built_kernels(kernels: Iterable[Any]) -> tuple[BuiltKernel, ...]:
    """Facts of compiled kernels, each once."""
    found = {name_of(kernel): _built(kernel) for kernel in kernels}
    return tuple(found.values())[:_MOST_KERNELS]


def code_of(kernels: Iterable[Any], budget: Budget) -> Iterator[Code]:
    """Every stage of each, as far as Triton has kept it; last what takes time, which is machine code."""
    cubins: list[tuple[str, bytes]] = []
    for kernel in list(kernels)[:_MOST_KERNELS]:
        name, stages = name_of(kernel), _stages(kernel)
        for kind in _KINDS:
            if isinstance(text := stages.get(str(kind)), str) and text:
                yield Code(kind, name, text)
        if isinstance(cubin := stages.get("cubin"), bytes):
            cubins.append((name, cubin))
    for name, cubin in cubins:
        yield from sass_of(name, cubin, budget)


def spill_bytes(kernel: Any) -> int | None:
    """A thread's; None where the kernel does not say."""
    registers = _count(getattr(kernel, "n_spills", None))
    return None if registers is None else registers * _REGISTER_BYTES


def heaviest(figures: Iterable[int | None]) -> int | None:
    """The largest of several kernels'; None where none of them is known."""
    return max((figure for figure in figures if figure is not None), default=None)


def name_of(kernel: Any) -> str:
    return str(getattr(kernel.metadata, "name", "") or getattr(kernel, "name", "kernel"))[:_LONGEST]


def _stages(kernel: Any) -> dict[str, object]:
    """``asm`` by its kind. Inductor's kernels come from a cache and may lack some, or all."""
    asm = getattr(kernel, "asm", None)
    return {str(kind): asm[kind] for kind in asm} if isinstance(asm, dict) else {}


def _built(kernel: Any) -> BuiltKernel:
    metadata = kernel.metadata
    return BuiltKernel(
        name_of(kernel),
        registers=_count(getattr(kernel, "n_regs", None)) or None,  # 0: not loaded
        spill_bytes=spill_bytes(kernel),
        shared_bytes=_count(getattr(metadata, "shared", None)),
        cluster=_cluster(metadata),
        warps=_count(getattr(metadata, "num_warps", None)),
        stages=_count(getattr(metadata, "num_stages", None)),
        constants=_constants(getattr(kernel, "src", None)),
    )


def _count(value: object) -> int | None:
    """None for what is no count: it was read of what belongs to others, and the referee takes counts only."""
    return value if isinstance(value, int) and 0 <= value <= _MOST_COUNT else None


def _cluster(metadata: Any) -> tuple[int, int, int] | None:
    """None for a single block, which is no cluster."""
    dimensions = getattr(metadata, "cluster_dims", None) or (getattr(metadata, "num_ctas", None) or 1,)
    x, y, z = (*(_count(extent) or 1 for extent in dimensions), 1, 1)[:3]
    return (x, y, z) if x * y * z > 1 else None


def _constants(source: Any) -> tuple[tuple[str, str], ...]:
    """Values of ``tl.constexpr`` arguments by name. Triton has them by place since 3.2, by name before."""
    values = getattr(source, "constants", None)
    if not isinstance(values, dict):
        return ()
    names = list(getattr(getattr(source, "fn", None), "arg_names", ()))
    found: list[tuple[str, str]] = []
    for key, value in values.items():
        place = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        name = names[place] if isinstance(place, int) and place < len(names) else str(place)
        if value is not None:
            found.append((name[:_LONGEST], str(getattr(value, "value", value))[:_LONGEST]))
    return tuple(found[:_MOST_CONSTANTS])
