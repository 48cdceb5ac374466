"""Operators that read and write each element once: pointwise ones, copies, fills and dropout.

FLOPs are counted as in this program's kernels (`WorkFormula`): add, mul, max, compare, exp, tanh and division
are one each. Where an operator's arithmetic is a matter of its implementation (gelu, dropout, random
numbers), FLOPs are unknown and the bytes alone are given: all of them are bound by memory.
"""

from collections.abc import Callable, Mapping
from math import prod

from roofscope.profiling.traces.work.call import Call, Operand, computed, itemsize, type_label, unknown
from roofscope.profiling.traces.work.operator_work import OperatorWork, bytes_of

Formula = Callable[[Call], OperatorWork]

# How many FLOPs an element takes is a matter of their implementation.
_BY_IMPLEMENTATION = (
    *(
        "sigmoid",
        "silu",
        "gelu",
        "log",
        "sqrt",
        "sin",
        "cos",
        "erf",
        "abs",
        "neg",
        "leaky_relu",
        "sgn",
        "sign",
    ),
    *(
        "exp2",
        "expm1",
        "log2",
        "log10",
        "log1p",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "erfc",
        "frac",
    ),
    *("floor", "ceil", "round", "trunc", "square", "hardtanh", "hardswish", "mish", "hardsigmoid", "elu"),
    *("celu", "softplus", "threshold"),
)
_BY_IMPLEMENTATION_OF_TWO = (
    *("gelu_backward", "silu_backward", "threshold_backward", "hardtanh_backward", "hardswish_backward"),
    *("hardsigmoid_backward", "leaky_relu_backward", "mish_backward", "softplus_backward"),
    *("pow", "fmod", "remainder", "atan2", "hypot", "fmax", "fmin"),
)
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
        _BY_IMPLEMENTATION,
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
    **dict.fromkeys(
        _BY_IMPLEMENTATION_OF_TWO,
        None,
    ),
}
_TERNARY: Mapping[str, int | None] = dict.fromkeys(("addcmul", "addcdiv", "lerp", "clamp"), None)
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_TESTS = ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not", "signbit")
_FILLS = ("fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_")


def _broadcast(operands: list[Operand]) -> tuple[int, ...]:
    """The dimensions of a result, by the rules of NumPy."""
    found: list[int] = []
    for at in range(1, 1 + max((len(each.dims) for each in operands), default=0)):
        sizes = {each.dims[-at] for each in operands if len(each.dims) >= at} - {1}
        if len(sizes) > 1:
            unknown("its recorded shapes do not fit")
        found.append(sizes.pop() if sizes else 1)
    return tuple(found[::-1])


def _pointwise(flops: int | None, places: tuple[int, ...], in_place: bool) -> Formula:
    def work(call: Call) -> OperatorWork:
        operands = call.given(*places)
        if not operands:
            unknown("it works on a lone number")
        if in_place:
            written = call.tensor(0)
            dims, dtype = written.dims, written.dtype
        else:
            dims, dtype = _broadcast(operands), computed(operands)
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


def _truth(places: tuple[int, ...]) -> Formula:
    """A comparison, one FLOP an element, or a test: true or false in a byte."""

    def work(call: Call) -> OperatorWork:
        operands = call.given(*places)
        if not operands:
            unknown("it works on a lone number")
        count = prod(_broadcast(operands))
        flops = count if len(places) > 1 else None
        return OperatorWork(type_label(operands[0].dtype), flops, bytes_of(operands), count)

    return work


def _where(call: Call) -> OperatorWork:
    """``where(condition, self, other)``; without the two it lists places, how many nobody recorded."""
    operands = call.given(0, 1, 2)
    chosen = [each for each in operands if each.dtype not in ("bool", "unsigned char")]
    if len(call.types) < 3 or not chosen:
        unknown("the type of its result is not known")
    written = prod(_broadcast(operands)) * itemsize(computed(chosen))
    return OperatorWork(type_label(chosen[0].dtype), 0, bytes_of(operands), written)


def _masked_fill(call: Call) -> OperatorWork:
    """``masked_fill_(self, mask, value)``."""
    x, mask = call.tensor(0), call.tensor(1)
    return OperatorWork(type_label(x.dtype), 0, bytes_of([x, mask]), x.elements * itemsize(x.dtype))


def _copy(call: Call) -> OperatorWork:
    """``copy_(self, src)``, also from one type to another."""
    target, source = call.tensor(0), call.tensor(1)
    return OperatorWork(
        type_label(target.dtype), 0, source.byte_count, target.elements * itemsize(target.dtype)
    )


def _fill(call: Call) -> OperatorWork:
    """``fill_(self, value)``, ``zero_(self)``, and random numbers, whose arithmetic is the generator's."""
    target = call.tensor(0)
    if call.name == "aten::bernoulli_" and call.has(1):
        unknown("it reads its probabilities, too")
    flops = 0 if call.name in ("aten::fill_", "aten::zero_") else None
    return OperatorWork(type_label(target.dtype), flops, 0, target.elements * itemsize(target.dtype))


def _dropout(call: Call) -> OperatorWork:
    """``native_dropout(input, p, train)``, also ``_fused_dropout(input, p)``: a byte of mask an element."""
    x = call.tensor(0)
    if call.name == "aten::native_dropout" and not call.flag(2):
        unknown("it drops nothing")
    return OperatorWork(type_label(x.dtype), None, x.byte_count, x.elements * (itemsize(x.dtype) + 1))


def _dropout_backward(call: Call) -> OperatorWork:
    grad, mask = call.tensor(0), call.tensor(1)
    written = grad.elements * itemsize(grad.dtype)
    return OperatorWork(type_label(grad.dtype), None, bytes_of([grad, mask]), written)


def _pointwise_formulas() -> dict[str, Formula]:
    found: dict[str, Formula] = {}
    for places, table in (((0,), _UNARY), ((0, 1), _BINARY), ((0, 1, 2), _TERNARY)):
        for name, flops in table.items():
            found[f"aten::{name}"] = _pointwise(flops, places, in_place=False)
            if not name.endswith("backward"):
                found[f"aten::{name}_"] = _pointwise(flops, places, in_place=True)
    return found


FORMULAS: Mapping[str, Formula] = {
    **_pointwise_formulas(),
    **{
        f"aten::{name}": _truth((0, 1))
        for name in (*_COMPARISONS, "logical_and", "logical_or", "logical_xor")
    },
    **{f"aten::{name}": _truth((0,)) for name in _TESTS},
    "aten::where": _where,
    "aten::masked_fill_": _masked_fill,
    "aten::copy_": _copy,
    **{f"aten::{name}": _fill for name in _FILLS},
    "aten::native_dropout": _dropout,
    "aten::_fused_dropout": _dropout,
    "aten::native_dropout_backward": _dropout_backward,
    "aten::_masked_scale": _dropout_backward,
}
