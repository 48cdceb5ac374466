"""The arguments of a call, as a kernel's inputs: tensors by shape, type and strides, the rest as it is."""

import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct

from roofscope.app.notebook.travelling import Luggage
from roofscope.app.presentation.formatting import memory_text
from roofscope.profiling.planning.spec import Axis, Dtype, Element, Fill, TensorSpec

CONTENTS = "contents.pickle"
_MOST_CONTENTS_BYTES = 2 << 30  # written, read by the worker, and held by both
_WORKLOAD_DTYPES = {str(dtype) for dtype in Dtype}
_ELEMENTS = {str(element) for element in Element}


class ArgumentError(Exception):
    """A call cannot be measured with these arguments; the text is one sentence."""


class Argument(Struct, frozen=True):
    """One argument: its name in the call, and how the call gets it."""

    name: str
    value: Any
    keyword: bool
    tensor: TensorSpec | None = None
    view: tuple[tuple[int, ...], tuple[int, ...]] | None = None  # shape and strides, where not contiguous


class Arguments(Struct, frozen=True):
    """All of a call."""

    each: tuple[Argument, ...]
    axes: tuple[Axis, ...]
    sizes: dict[str, int]
    dtype: Dtype
    device: str  # as torch names it: cpu, cuda:0; "" where the tensors have no contents

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return tuple(one.tensor for one in self.each if one.tensor)

    def pack(self, luggage: Luggage) -> None:
        """What is no tensor, under names of its own."""
        for one in self.each:
            if one.tensor is None:
                luggage.pack(f"_{one.name}", one.value)

    def signature(self) -> str:
        return ", ".join(one.name for one in self.each if one.tensor)

    def views(self, indent: str = "    ") -> str:
        """Lines that give tensors the strides that they had."""
        return "".join(
            f"{indent}{one.name} = {one.name}.as_strided({one.view[0]}, {one.view[1]})\n"
            for one in self.each
            if one.view
        )

    def call(self) -> str:
        """The arguments of the call."""
        names = [(one, one.name if one.tensor else f"_{one.name}") for one in self.each]
        return ", ".join(f"{one.name}={name}" if one.keyword else name for one, name in names)

    def write_contents(self, folder: Path) -> None:
        """What the tensors hold now, for ``derive`` of the reference."""
        flat = [_storage_of(one).cpu() for one in self.each if one.tensor]
        (folder / CONTENTS).write_bytes(pickle.dumps(flat))

    def text(self) -> str:
        """For people: ``x 4096x1024 float32``."""
        return ", ".join(
            f"{one.name} {'x'.join(map(str, one.value.shape)) or 'scalar'} {_dtype(one.value)}"
            for one in self.each
            if one.tensor
        )


def arguments_of(
    function: Callable[..., Any],
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
    *,
    keeps_contents: bool = False,
) -> Arguments:
    """Raises ArgumentError where there is no tensor, or one that Roofscope does not know."""
    pairs = [*zip(_names(function, len(positional), keywords), positional, strict=True), *keywords.items()]
    tensors = [(name, value) for name, value in pairs if is_tensor(value)]
    if not tensors:
        raise ArgumentError(
            "There is no tensor among the arguments, so that there is nothing to read or write."
        )
    dtype = _workload_dtype([value for _, value in tensors])
    sizes: dict[str, int] = {}
    held = sum(_extent(value) * value.element_size() for _, value in tensors)
    if keeps_contents and held > _MOST_CONTENTS_BYTES:
        raise ArgumentError(
            f"The tensors hold {memory_text(held)}; contents=True keeps at most "
            f"{memory_text(_MOST_CONTENTS_BYTES)}, because they are written to a file. Leave it out, so that "
            "random numbers fill them."
        )
    if keeps_contents and (empty := next((name for name, value in tensors if value.is_meta), None)):
        raise ArgumentError(f"{empty} is a shape without contents, which contents=True would keep.")
    each: list[Argument] = []
    for number, (name, value) in enumerate(pairs):
        keyword = number >= len(positional)
        if not is_tensor(value):
            each.append(Argument(name, value, keyword))
            continue
        view = None if value.is_contiguous() else (tuple(value.shape), tuple(value.stride()))
        shape = (_extent(value),) if view else tuple(value.shape)
        tensor = TensorSpec(
            name,
            tuple(_dimension(name, place, size, sizes) for place, size in enumerate(shape)),
            None if _dtype(value) == dtype else _element(name, value),
            *((Fill.DERIVED, "") if keeps_contents else _fill(name, value)),
        )
        each.append(Argument(name, value, keyword, tensor, view))
    axes = tuple(Axis(name, "a dimension of the tensors that were given") for name in sizes)
    return Arguments(tuple(each), axes, sizes, dtype, _device([value for _, value in tensors]))


def is_tensor(value: Any) -> bool:
    """Whether it is a torch.Tensor, without importing torch."""
    return any(f"{one.__module__}.{one.__qualname__}" == "torch.Tensor" for one in type(value).__mro__)


def _names(function: Callable[..., Any], number: int, keywords: Mapping[str, Any]) -> list[str]:
    """Those of the function's parameters where they are known."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in parameters if one.kind in plain][:number]
    free = (name for name in map("x{}".format, count()) if name not in names and name not in keywords)
    return [*names, *(next(free) for _ in range(number - len(names)))]


def _dimension(tensor: str, place: int, size: int, sizes: dict[str, int]) -> str:
    """An axis for each different size, so that the label of the workload says them all once."""
    if size < 2:
        return str(size)
    for name, known in sizes.items():
        if known == size:
            return name
    name = f"{tensor}{place}"
    sizes[name] = size
    return name


def _extent(value: Any) -> int:
    """Elements from the first to the last of a view."""
    if not value.numel():
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))


def _storage_of(argument: Argument) -> Any:
    value = argument.value.detach()
    return value.as_strided((_extent(value),), (1,)) if argument.view else value


def _workload_dtype(tensors: Sequence[Any]) -> Dtype:
    """The first that a workload can have."""
    found = next((_dtype(one) for one in tensors if _dtype(one) in _WORKLOAD_DTYPES), None)
    if found is None:
        known = ", ".join(_WORKLOAD_DTYPES)
        raise ArgumentError(
            f"None of the tensors is of a type that a workload can have ({known}); they are "
            f"{', '.join(map(_dtype, tensors))}."
        )
    return Dtype(found)


def _element(name: str, value: Any) -> Element:
    if _dtype(value) not in _ELEMENTS:
        raise ArgumentError(
            f"{name} is {_dtype(value)}, which Roofscope does not measure; it knows "
            f"{', '.join(sorted(_ELEMENTS))}."
        )
    return Element(_dtype(value))


def _fill(name: str, value: Any) -> tuple[Fill, str]:
    """Random contents of the kind that the tensor has: positive numbers, indices below the largest."""
    if value.device.type == "meta" or not value.numel():
        return (Fill.UNIFORM, "") if value.is_floating_point() else (Fill.INTEGER, "2")
    if value.is_floating_point():
        return (Fill.POSITIVE if float(value.detach().float().min()) > 0 else Fill.UNIFORM), ""
    low, high = int(value.min()), int(value.max())
    if low < 0 and _dtype(value) != Element.INT8:
        raise ArgumentError(
            f"{name} has negative integers; give contents=True, so that it keeps what it holds."
        )
    return Fill.INTEGER, str(256 if low < 0 else max(high + 1, 2))


def _dtype(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _device(tensors: Sequence[Any]) -> str:
    found = {str(one.device) for one in tensors} - {"meta"}
    if len(found) > 1:
        raise ArgumentError(f"The tensors lie on several devices: {', '.join(sorted(found))}.")
    return found.pop() if found else ""
