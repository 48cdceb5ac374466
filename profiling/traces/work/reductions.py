"""Reductions, scans, sorting: what reads each element once and leaves fewer of them, or as many in an order.

FLOPs are additions and divisions, one each; where a comparison, a power or an implementation's own way is all
there is to count, they are unknown and the bytes alone are given. Places of arguments, values and the type of
indices, int64, as in `aten/src/ATen/native/native_functions.yaml`.
"""

from collections.abc import Callable, Mapping
from math import prod

from roofscope.profiling.traces.work.call import (
    Call,
    Operand,
    computed,
    itemsize,
    type_label,
    type_numbered,
    unknown,
)
from roofscope.profiling.traces.work.operator_work import OperatorWork

Formula = Callable[[Call], OperatorWork]
_INDEX = itemsize("long int")
_BOOL = 1


def _left(call: Call, operand: Operand, axes_at: int, keeps_at: int | None = None) -> int:
    """Elements that a reduction leaves; without axes it reduces all."""
    text = call.optional(axes_at)
    axes = call.numbers(axes_at) if text.strip("[]") else tuple(range(len(operand.dims)))
    if any(not -len(operand.dims) <= axis < len(operand.dims) for axis in axes):
        unknown("its recorded arguments do not fit")
    reduced = {axis % len(operand.dims) for axis in axes}
    return prod(size for axis, size in enumerate(operand.dims) if axis not in reduced)


def _reduction(dtype_at: int | None, has_division: bool) -> Formula:
    """``sum(self, dim, keepdim, dtype)``: n - outputs additions, and for a mean one division an output."""

    def work(call: Call) -> OperatorWork:
        operand = call.tensor(0)
        # sum(self, dtype) is another overload, of two arguments.
        left = 1 if len(call.types) <= 2 and dtype_at is not None else _left(call, operand, 1)
        given = ""
        if dtype_at:
            given = call.optional(1 if len(call.types) <= 2 else dtype_at)
        dtype = type_numbered(given) if given else computed([operand])
        flops = operand.elements - left + (left if has_division else 0)
        return OperatorWork(type_label(operand.dtype), flops, operand.byte_count, left * itemsize(dtype))

    return work


def _extreme(call: Call) -> OperatorWork:
    """``max(self)``; ``max(self, dim, keepdim)``, which gives the places too."""
    x = call.tensor(0)
    if call.has(1):
        unknown("of two tensors it is another operator")
    if not call.optional(1):
        return OperatorWork(type_label(x.dtype), None, x.byte_count, itemsize(x.dtype))
    written = _left(call, x, 1) * (itemsize(x.dtype) + _INDEX)
    return OperatorWork(type_label(x.dtype), None, x.byte_count, written)


def _along(result_bytes: int | None, results: int = 1) -> Formula:
    """``op(self, dim, ...)``: bytes of an element that is left; None: as many as one of the input has."""

    def work(call: Call) -> OperatorWork:
        x = call.tensor(0)
        whole = call.text(1) in ("True", "False")  # var(self, unbiased), of all elements
        left = 1 if whole or len(call.types) == 1 else _left(call, x, 1)
        size = itemsize(computed([x])) if result_bytes is None else result_bytes
        return OperatorWork(type_label(x.dtype), None, x.byte_count, results * left * size)

    return work


def _vector_norm(call: Call) -> OperatorWork:
    """``linalg_vector_norm(self, ord, dim, keepdim, dtype)``."""
    x = call.tensor(0)
    given = call.optional(4)
    dtype = type_numbered(given) if given else computed([x])
    return OperatorWork(type_label(x.dtype), None, x.byte_count, _left(call, x, 2) * itemsize(dtype))


def _scan(counts: bool) -> Formula:
    """``cumsum(self, dim, dtype)``: an addition or a product for each element but the first of each row."""

    def work(call: Call) -> OperatorWork:
        x = call.tensor(0)
        rows = _left(call, x, 1)
        given = call.optional(2)
        dtype = type_numbered(given) if given else computed([x])
        flops = x.elements - rows if counts else None
        return OperatorWork(type_label(x.dtype), flops, x.byte_count, x.elements * itemsize(dtype))

    return work


def _sort(call: Call) -> OperatorWork:
    """Values and places; how often it goes over them is the implementation's."""
    x = call.tensor(0)
    return OperatorWork(type_label(x.dtype), None, x.byte_count, x.elements * (itemsize(x.dtype) + _INDEX))


def _topk(call: Call) -> OperatorWork:
    """``topk(self, k, dim, largest, sorted)``."""
    x, kept, [axis] = call.tensor(0), call.number(1), call.numbers(2, 1)
    if not x.dims or not -len(x.dims) <= axis < len(x.dims) or not 0 <= kept <= x.dims[axis]:
        unknown("its recorded arguments do not fit")
    rows = prod(size for at, size in enumerate(x.dims) if at != axis % len(x.dims))
    return OperatorWork(type_label(x.dtype), None, x.byte_count, rows * kept * (itemsize(x.dtype) + _INDEX))


FORMULAS: Mapping[str, Formula] = {
    "aten::sum": _reduction(3, has_division=False),
    "aten::mean": _reduction(3, has_division=True),
    "aten::amax": _reduction(None, has_division=False),
    "aten::amin": _reduction(None, has_division=False),
    "aten::max": _extreme,
    "aten::min": _extreme,
    "aten::argmax": _along(_INDEX),
    "aten::argmin": _along(_INDEX),
    "aten::all": _along(_BOOL),
    "aten::any": _along(_BOOL),
    "aten::var": _along(None),
    "aten::std": _along(None),
    "aten::var_mean": _along(None, results=2),
    "aten::std_mean": _along(None, results=2),
    "aten::linalg_vector_norm": _vector_norm,
    "aten::cumsum": _scan(counts=True),
    "aten::cumprod": _scan(counts=True),
    "aten::logcumsumexp": _scan(counts=False),
    "aten::sort": _sort,
    "aten::topk": _topk,
}
