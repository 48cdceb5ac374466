"""Which sizes Triton's interpreter is given: milliseconds a block, of which a GPU may have a million."""

import math

from roofscope.profiling.planning.domain import first_inside, is_inside
from roofscope.profiling.planning.formula import FormulaError
from roofscope.profiling.planning.spec import KernelSpec, Workload

MOST_ELEMENTS = 2**18  # of all inputs and outputs


def sizes_to_interpret(spec: KernelSpec, workload: Workload, domain: str = "") -> dict[str, int]:
    """The workload's sizes, its longest axes halved until few elements are left.

    Where halving leaves the domain or the spec, the first odd size that the domain has.
    """
    sizes = dict(workload.sizes)
    while (count := _elements(spec, sizes)) is not None and count > MOST_ELEMENTS:
        halved = next(
            (smaller for smaller in _halved(sizes) if _is_taken(spec, workload, domain, smaller, count)), None
        )
        if halved is None:
            break
        sizes = halved
    count = _elements(spec, sizes)
    if count is not None and count <= MOST_ELEMENTS:
        return sizes
    return first_inside(domain, spec.odd_sizes, workload.dtype) or sizes


def _halved(sizes: dict[str, int]) -> list[dict[str, int]]:
    """With one axis half as long, the longest first."""
    return [{**sizes, axis: sizes[axis] // 2} for axis in sorted(sizes, key=lambda one: -sizes[one])]


def _is_taken(spec: KernelSpec, workload: Workload, domain: str, sizes: dict[str, int], below: int) -> bool:
    count = _elements(spec, sizes)
    return (
        spec.problem_with(sizes) is None
        and count is not None
        and 0 < count < below
        and is_inside(domain, sizes, workload.dtype)
    )


def _elements(spec: KernelSpec, sizes: dict[str, int]) -> int | None:
    """Of all inputs and outputs; None where a shape cannot be evaluated."""
    try:
        return sum(math.prod(spec.shape(tensor, sizes)) for tensor in (*spec.inputs, *spec.outputs))
    except FormulaError:
        return None
