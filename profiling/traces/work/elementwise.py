"""Operators that read and write each element once: pointwise ones, reductions, norms and softmax.

FLOPs are counted as in this program's kernels (`WorkFormula`): add, mul, max, compare, exp, tanh and division
are one each. Where an operator's arithmetic is a matter of its implementation (gelu, dropout, the gradients
of norms), FLOPs are unknown and the bytes alone are given: all of them are bound by memory.
"""

from collections.abc import Callable, Mapping
from math import prod

from roofscope.profiling.traces.work.call import (
    FLOATING,
    Call,
    Operand,
    itemsize,
    type_label,
    type_numbered,
    unknown,
)
from roofscope.profiling.traces.work.operator_work import OperatorWork, bytes_of

Formula = Callable[[Call], OperatorWork]

# FLOPs an element: with one tensor, and with two. Of `add` and `sub` only with a factor of 1.
_UNARY: Mapping[str, int | None] = {
    "exp": 1,
    "tanh": 1,
    "rsqrt": 1,
    "reciprocal": 1,
    "relu": 1,
    "clamp_min": 1,
    "clamp_max": 1,
    **dict.fromkeys(
        ("sigmoid", "silu", "gelu", "log", "sqrt", "sin", "cos", "erf", "abs", "neg", "leaky_relu", "pow"),
        None,
    ),
}
_BINARY: Mapping[str, int | None] = {
    "add": 1,
    "sub": 1,
    "mul": 1,
    "div": 1,
    "maximum": 1,
    "minimum": 1,
    "tanh_backward": 3,  # g (1 - y y)
    "sigmoid_backward": 3,  # g (1 - y) y
    **dict.fromkeys(("gelu_backward", "silu_backward", "threshold_backward"), None),
}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_SOFTMAX_FLOPS = 5  # maximum, difference, exp, sum, division
_LAYER_NORM_FLOPS = 8  # with weight and bias, as in kernels/layer_norm
_RMS_NORM_FLOPS = 4  # with a weight, as in kernels/rms_norm


def _broadcast(operands: list[Operand]) -> tuple[int, ...]:
    """The dimensions of a result, by the rules of NumPy."""
    found: list[int] = []
    for at in range(1, 1 + max((len(each.dims) for each in operands), default=0)):
        sizes = {each.dims[-at] for each in operands if len(each.dims) >= at} - {1}
        if len(sizes) > 1:
            unknown("its recorded shapes do not fit")
        found.append(sizes.pop() if sizes else 1)
    return tuple(found[::-1])


def _computed(operands: list[Operand]) -> str:
    """The one floating type of these tensors; a lone number among them does not change it."""
    types = {each.dtype for each in operands}
    if len(types) != 1 or not types <= set(FLOATING):
        unknown("the type of its result is not known")
    return types.pop()


def _pointwise(flops: int | None, places: tuple[int, ...], in_place: bool) -> Formula:
    def work(call: Call) -> OperatorWork:
        operands = call.given(*places)
        if not operands:
            unknown("it works on a lone number")
        if in_place:
            written = call.tensor(0)
            dims, dtype = written.dims, written.dtype
        else:
            dims, dtype = _broadcast(operands), _computed(operands)
        exact = flops if call.name.rstrip("_") not in _SCALED or call.text(2) in ("1", "1.") else None
        count = prod(dims)
        return OperatorWork(
            type_label(dtype),
            None if exact is None else exact * count,
            bytes_of(operands),
            count * itemsize(dtype),
        )

    return work


_SCALED = ("aten::add", "aten::sub")


def _comparison(call: Call) -> OperatorWork:
    operands = call.given(0, 1)
    count = prod(_broadcast(operands))
    return OperatorWork(type_label(operands[0].dtype) if operands else "", count, bytes_of(operands), count)


def _copy(call: Call) -> OperatorWork:
    """``copy_(self, src)``, also from one type to another."""
    target, source = call.tensor(0), call.tensor(1)
    return OperatorWork(
        type_label(target.dtype), 0, source.byte_count, target.elements * itemsize(target.dtype)
    )


def _fill(call: Call) -> OperatorWork:
    """``fill_(self, value)`` and ``zero_(self)``."""
    target = call.tensor(0)
    return OperatorWork(type_label(target.dtype), 0, 0, target.elements * itemsize(target.dtype))


def _left(call: Call, operand: Operand, axes_at: int, keeps_at: int | None = None) -> int:
    """Elements that a reduction leaves; without axes it reduces all."""
    text = call.text(axes_at)
    if not text and axes_at < len(call.types) and call.types[axes_at] not in ("", "ScalarList"):
        unknown("an argument that decides is not recorded")
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
        given = call.text(len(call.types) - 1 if len(call.types) <= 2 else dtype_at) if dtype_at else ""
        dtype = type_numbered(given) if given else _computed([operand])
        flops = operand.elements - left + (left if has_division else 0)
        return OperatorWork(type_label(operand.dtype), flops, operand.byte_count, left * itemsize(dtype))

    return work


def _softmax(call: Call) -> OperatorWork:
    """``_softmax(self, dim, half_to_float)``. Logarithmic: as many, with a logarithm a row beside them."""
    x = call.tensor(0)
    written = x.elements * itemsize("float" if call.flag(2) else x.dtype)
    flops = _SOFTMAX_FLOPS * x.elements if call.name == "aten::_softmax" else None
    return OperatorWork(type_label(x.dtype), flops, x.byte_count, written)


def _softmax_backward(call: Call) -> OperatorWork:
    """``_softmax_backward_data(grad_output, output, dim, input_dtype)``."""
    grad, output = call.tensor(0), call.tensor(1)
    written = grad.elements * itemsize(type_numbered(call.text(3)))
    return OperatorWork(type_label(output.dtype), None, bytes_of([grad, output]), written)


def _rows(call: Call, x: Operand, shape_at: int) -> int:
    """So many rows are normalised: the last dimensions are those of a row."""
    shape = call.numbers(shape_at)
    if not shape or x.dims[-len(shape) :] != shape:
        unknown("its recorded shapes do not fit")
    return prod(x.dims[: -len(shape)])


def _sums_size(dtype: str) -> int:
    """Means and deviations are kept in float32, of float64 in float64 (c10::acc_type of CUDA)."""
    return max(4, itemsize(dtype))


def _layer_norm(call: Call) -> OperatorWork:
    """``native_layer_norm(input, normalized_shape, weight, bias, eps)``: y, mean and deviation a row."""
    x = call.tensor(0)
    rows, scales = _rows(call, x, 1), call.given(2, 3)
    written = x.elements * itemsize(x.dtype) + 2 * rows * _sums_size(x.dtype)
    flops = _LAYER_NORM_FLOPS * x.elements if len(scales) == 2 else None
    return OperatorWork(type_label(x.dtype), flops, bytes_of([x, *scales]), written)


def _rms_norm(call: Call) -> OperatorWork:
    """``_fused_rms_norm(input, normalized_shape, weight, eps)``: y, and a deviation a row."""
    x = call.tensor(0)
    rows, scales = _rows(call, x, 1), call.given(2)
    written = x.elements * itemsize(x.dtype) + rows * _sums_size(x.dtype)
    flops = _RMS_NORM_FLOPS * x.elements if scales else None
    return OperatorWork(type_label(x.dtype), flops, bytes_of([x, *scales]), written)


def _norm_backward(sums: tuple[int, ...], weight_at: int, mask_at: int) -> Formula:
    """``native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, mask)``.

    Of `_fused_rms_norm_backward` without mean and bias. Gradients of weight and bias are as long as a row.
    """

    def work(call: Call) -> OperatorWork:
        grad, x = call.tensor(0), call.tensor(1)
        rows, wanted = _rows(call, x, 2), call.flags(mask_at)
        read = [grad, x, *call.given(*sums, weight_at)]
        along = x.elements // rows if rows else 0
        written = (x.elements if wanted[0] else 0) + along * sum(wanted[1:])
        return OperatorWork(type_label(x.dtype), None, bytes_of(read), written * itemsize(x.dtype))

    return work


def _dropout(call: Call) -> OperatorWork:
    """``native_dropout(input, p, train)``: a byte of the mask an element."""
    x = call.tensor(0)
    if not call.flag(2):
        unknown("it drops nothing")
    return OperatorWork(type_label(x.dtype), None, x.byte_count, x.elements * (itemsize(x.dtype) + 1))


def _dropout_backward(call: Call) -> OperatorWork:
    grad, mask = call.tensor(0), call.tensor(1)
    written = grad.elements * itemsize(grad.dtype)
    return OperatorWork(type_label(grad.dtype), None, bytes_of([grad, mask]), written)


def _pointwise_formulas() -> dict[str, Formula]:
    found: dict[str, Formula] = {}
    for places, table in (((0,), _UNARY), ((0, 1), _BINARY)):
        for name, flops in table.items():
            found[f"aten::{name}"] = _pointwise(flops, places, in_place=False)
            if not name.endswith("backward"):
                found[f"aten::{name}_"] = _pointwise(flops, places, in_place=True)
    return found


FORMULAS: Mapping[str, Formula] = {
    **_pointwise_formulas(),
    **{f"aten::{name}": _comparison for name in _COMPARISONS},
    "aten::copy_": _copy,
    "aten::fill_": _fill,
    "aten::zero_": _fill,
    "aten::sum": _reduction(3, has_division=False),
    "aten::mean": _reduction(3, has_division=True),
    "aten::amax": _reduction(None, has_division=False),
    "aten::amin": _reduction(None, has_division=False),
    "aten::_softmax": _softmax,
    "aten::_log_softmax": _softmax,
    "aten::_softmax_backward_data": _softmax_backward,
    "aten::_log_softmax_backward_data": _softmax_backward,
    "aten::native_layer_norm": _layer_norm,
    "aten::native_layer_norm_backward": _norm_backward((3, 4), 5, 7),
    "aten::_fused_rms_norm": _rms_norm,
    "aten::_fused_rms_norm_backward": _norm_backward((3,), 4, 5),
    "aten::native_dropout": _dropout,
    "aten::native_dropout_backward": _dropout_backward,
}
