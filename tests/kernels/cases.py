"""What the tests of the kernels share: the catalog, inputs to run on, and what counts as equal."""

import math
import random
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel, load_module, scan
from roofscope.profiling.planning.spec import Axis, Dtype, Fill, Implementation, Provider
from roofscope.profiling.worker.inputs import InputMaker, as_tuple, widened

CATALOG = scan()
_LONG_AXIS = 512

Tensors = tuple[torch.Tensor, ...]


def implementations(*providers: Provider) -> Iterator[tuple[Kernel, Implementation]]:
    """Every implementation by one of the providers, with its kernel."""
    for kernel in CATALOG.kernels:
        for implementation in kernel.implementations:
            if implementation.provider in providers:
                yield kernel, implementation


def sample(
    cases: Iterable[tuple[Any, ...]],
    group: Callable[..., Hashable],
    fits: Callable[..., bool] = lambda *_: True,
) -> list[Any]:
    """The cases as parameters of a test. `make test` takes the first of each group that fits."""
    seen: set[Hashable] = set()
    parameters: list[Any] = []
    for case in cases:
        is_first = group(*case) not in seen and fits(*case)
        if is_first:
            seen.add(group(*case))
        parameters.append(pytest.param(*case, marks=() if is_first else pytest.mark.exhaustive))
    return parameters


def name_of(value: object) -> str | None:
    """Names a parameter of a test."""
    match value:
        case Kernel():
            return value.spec.name
        case Implementation():
            return value.stem
        case dict():
            return "x".join(map(str, value.values()))
        case _:
            return str(value)


def element_count(kernel: Kernel, sizes: dict[str, int]) -> int:
    """Elements of all inputs and outputs."""
    return sum(math.prod(kernel.spec.shape(t, sizes)) for t in (*kernel.spec.inputs, *kernel.spec.outputs))


def tiny_sizes(kernel: Kernel, count: int = 24) -> list[dict[str, int]]:
    """Axes of length 1, 2 or an odd prime, times what the axis has at least; each axis is 1 once at least.

    Of an axis that has hundreds at least, as many more: seven thousand queries would take a minute.
    """
    draw = random.Random(kernel.spec.name)
    axes = kernel.spec.axes
    drawn = [{axis.name: draw.choice((1, 1, 2, 3, 5, 7)) for axis in axes} for _ in range(count)]
    for index, axis in enumerate(axes):
        drawn[index][axis.name] = 1
    return [{axis.name: _length(axis, sizes[axis.name]) for axis in axes} for sizes in drawn]


def _length(axis: Axis, drawn: int) -> int:
    least = max(axis.minimum, 1)
    return least + drawn - 1 if least >= _LONG_AXIS else least * drawn


def random_inputs(
    kernel: Kernel, sizes: dict[str, int], dtype: Dtype, magnitude: float = 1.0, device: str = "cpu"
) -> Tensors:
    """As the worker makes them, the same at every call."""
    derive = getattr(load_module(kernel.folder / "reference.py"), "derive", None)
    maker = InputMaker(kernel.spec, dtype, torch.device("cpu"), seed=20_240_229, derive=derive)
    return tuple(tensor.to(device) for tensor in maker.make(sizes, magnitude))


def element_names(kernel: Kernel, dtype: Dtype) -> list[str]:
    """Element types of the outputs."""
    return [output.element_at(dtype) for output in kernel.spec.outputs]


def can_be_spoiled(kernel: Kernel, special: float) -> bool:
    """Whether the first input may hold NaN or infinity, and every output of every version shows it alike.

    Integers and 8-bit floats cannot; derived inputs follow the first one. Of infinite scores PyTorch's own
    attention makes 0 or NaN, by dtype and row.
    """
    first, outputs = kernel.spec.inputs[0], kernel.spec.outputs
    if kernel.spec.name.startswith("attention") and math.isinf(special):
        return False
    derived = any(tensor.fill is Fill.DERIVED for tensor in kernel.spec.inputs)
    return first.element is None and not derived and all(output.element is None for output in outputs)


# Textbook versions that are wrong at large magnitudes: kept, because verification refuses them and says why.
OVERFLOWS = {"gelu/triton_textbook"}


def spoiled_inputs(kernel: Kernel, dtype: Dtype, special: float, device: str = "cpu") -> Tensors:
    """Random inputs, of which the first holds NaN or an infinity near the start, in the middle, at the end,
    and in a whole row."""
    inputs = random_inputs(kernel, kernel.spec.odd_sizes[0], dtype, device=device)
    flat = inputs[0].view(-1)
    flat[[3, flat.numel() // 2, flat.numel() - 1]] = special
    if inputs[0].dim() == 2 and len(inputs[0]) > 1:
        inputs[0][1] = special
    return inputs


def reference(kernel: Kernel, inputs: Tensors) -> Tensors:
    return as_tuple(load_module(kernel.folder / "reference.py").run(*widened(inputs)))


def eager(kernel: Kernel, inputs: Tensors) -> Tensors:
    return as_tuple(load_module(kernel.folder / "eager.py").run(*inputs))


def relative_error(results: Tensors, expected: Tensors) -> float:
    """Largest norm(result - expected) / norm(expected); infinite where a result is not finite."""
    assert [result.shape for result in results] == [wanted.shape for wanted in expected]
    return max(_relative_error(*pair) for pair in zip(results, expected, strict=True))


def _relative_error(result: torch.Tensor, expected: torch.Tensor) -> float:
    difference = (result.double() - expected.to(result.device)).norm().item()
    norm = expected.norm().item()
    return (difference / norm if norm else difference) if math.isfinite(difference) else math.inf


def signature(tensors: Tensors) -> list[torch.Tensor]:
    """Where values are NaN, infinite with their sign, or finite; for comparison with torch.equal."""
    return [
        torch.where(t.isnan(), 2, torch.where(t.isinf(), t.sign().nan_to_num(), 0)).to("cpu", torch.int8)
        for t in tensors
    ]
