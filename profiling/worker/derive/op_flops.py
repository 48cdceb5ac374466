"""FLOPs of one call of an ATen operation that is no matrix product, by Roofscope's conventions.

An add, multiplication, maximum, comparison, division, rounding or function (exp, tanh, rsqrt, ...) is 1, an
FMA 2, as in ``planning.spec.WorkFormula``; a change of sign, a conversion, a copy and a view are 0. What is
one operation to ATen counts as its formula in PyTorch's documentation does, with what is constant along a
row left out: each entry says how. Integers are no FLOPs. An operation that is not here is named and not
counted.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import torch

Arguments = Mapping[str, Any]  # of a call, by the names of ATen's schema
Formula = Callable[[Arguments, tuple[torch.Tensor, ...]], int]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Nothing is computed: views, copies, conversions, fills, selections, indices, logic, bits.
FREE = frozenset(
    _names(
        """
        __and__ __lshift__ __or__ __rshift__ __xor__ _assert_async _assert_scalar
        _assert_tensor_metadata _conj _local_scalar_dense _pin_memory _reshape_alias _to_copy
        _unsafe_view abs abs_ alias all any any_ arange as_strided as_strided_ bitwise_and
        bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bucketize cat
        clone complex conj constant_pad_nd contiguous copy copy_ copysign detach detach_ diagonal
        embedding empty empty_like empty_permuted empty_strided expand eye fill fill_ flip full
        full_like gather glu_jvp imag index index_copy index_select is_same_size isfinite isinf
        isnan item lift lift_fresh lift_fresh_copy linspace logical_and logical_not logical_or
        logical_xor masked_fill masked_fill_ masked_scatter masked_select movedim narrow neg neg_
        new_empty new_empty_strided new_full new_ones new_zeros nonzero ones ones_like permute
        positive promote_types real reflection_pad1d reflection_pad2d repeat reshape resize_
        result_type roll rot90 scalar_tensor scatter searchsorted select select_backward
        select_scatter set_ sgn sign signbit slice slice_backward slice_scatter split
        split_with_sizes squeeze squeeze_ stack sym_numel sym_size sym_storage_offset sym_stride t
        take to transpose transpose_ tril tril_ tril_indices triu triu_ triu_indices unbind unfold
        unsafe_split unsqueeze unsqueeze_ view view_as_complex view_as_real view_copy where zero_
        zeros zeros_like
        """
    )
)

# FLOPs an element of the output.
_BY_OUTPUT: dict[str, int] = {
    **dict.fromkeys(
        _names(
            """
            acos acosh asin asinh atan atan2 atanh ceil clamp_max clamp_min cos cosh digamma div eq
            erf erfc erfinv exp exp2 expm1 floor floor_divide fmax fmin fmod frac ge gt hypot le
            lgamma log log10 log1p log2 logaddexp lt maximum minimum mul ne reciprocal relu
            remainder round rsqrt rsub sin sinh sqrt square sub tan tanh threshold_backward trunc
            """
        ),
        1,
    ),
    "clamp": 2,  # a maximum and a minimum
    "hardtanh": 2,
    "addcmul": 2,  # an FMA; a factor that is not 1 adds one
    "addcdiv": 2,
    "lerp": 3,  # a + w (b - a)
    "leaky_relu": 2,  # a comparison and a product
    "elu": 3,  # a comparison, expm1, a product
    "softplus": 3,  # exp, add, log
    "sigmoid": 3,  # exp, add, division
    "log_sigmoid_forward": 3,
    "silu": 4,  # x sigmoid(x)
    "mish": 5,  # x tanh(softplus(x))
    "hardsigmoid": 4,  # add, clamp, division
    "hardswish": 5,
    "sigmoid_backward": 3,  # dy y (1 - y)
    "tanh_backward": 3,  # dy (1 - y y)
    "silu_backward": 8,  # dy s (1 + x (1 - s)), s = sigmoid(x)
    "_softmax": 5,  # maximum, difference, exp, sum, division
    "_safe_softmax": 5,
    "_log_softmax": 5,  # maximum, difference, exp, sum, difference
    "_softmax_backward_data": 4,  # y (dy - sum(dy y))
    "_log_softmax_backward_data": 4,  # dy - exp(y) sum(dy)
    "cumsum": 1,
    "cumprod": 1,
    "cummax": 1,
    "cummin": 1,
    "logcumsumexp": 3,
}

# FLOPs an element of the first input, which is reduced.
_BY_INPUT: dict[str, int] = {
    "sum": 1,
    "nansum": 1,
    "mean": 1,  # the sum; one division a result is not counted
    "prod": 1,
    "amax": 1,
    "amin": 1,
    "aminmax": 2,
    "max": 1,
    "min": 1,
    "argmax": 1,
    "argmin": 1,
    "var": 4,  # the mean, then difference, square, sum
    "std": 4,
    "var_mean": 4,
    "std_mean": 4,
    "logsumexp": 4,  # maximum, difference, exp, sum
    "linalg_vector_norm": 2,  # square and sum; other powers cost no less
    "norm": 2,
    "dot": 2,
    "vdot": 2,
    "mv": 2,
    "mse_loss": 3,  # difference, square, sum
    "index_add": 1,
    "scatter_add": 1,
}

# Of normalisations, an element of the input; a weight and a bias add one each.
_NORMS: dict[str, int] = {
    "native_layer_norm": 6,  # mean 1, variance 3, then difference and product
    "native_group_norm": 6,
    "_fused_rms_norm": 3,  # square, sum, product
}
_BACKWARD_NORMS: dict[str, int] = {
    "native_layer_norm_backward": 12,  # normal 2, dw 2, db 1, dy w 1, two means 3, dx 3
    "_fused_rms_norm_backward": 9,  # normal 1, dw 2, dy w 1, mean 2, dx 3
}


def flops_of(name: str, arguments: Arguments, outputs: tuple[torch.Tensor, ...]) -> int | None:
    """FLOPs of this call; None where the operation is not known."""
    base = name.removesuffix("_") if name not in FREE else name
    if name in FREE or base in FREE:
        return 0
    formula = _formula(base)
    if formula is None:
        return None
    return formula(arguments, outputs) if _is_floating(arguments, outputs) else 0


def _formula(name: str) -> Formula | None:
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name in _BY_OUTPUT:
        each = _BY_OUTPUT[name]
        return lambda _, outputs: each * outputs[0].numel()
    if name in _BY_INPUT:
        each = _BY_INPUT[name]
        return lambda arguments, _: each * _largest(arguments)
    if name in _NORMS:
        each = _NORMS[name]
        return lambda arguments, _: (each + _scales(arguments)) * _largest(arguments)
    if name in _BACKWARD_NORMS:
        each = _BACKWARD_NORMS[name]
        return lambda arguments, _: each * _largest(arguments)
    return None


def _add(arguments: Arguments, outputs: tuple[torch.Tensor, ...]) -> int:
    return (1 + (arguments.get("alpha", 1) != 1)) * outputs[0].numel()


def _power(arguments: Arguments, outputs: tuple[torch.Tensor, ...]) -> int:
    """A small whole exponent is multiplications, by squaring; any other is one function."""
    exponent = arguments.get("exponent")
    if isinstance(exponent, int | float) and exponent == int(exponent) and 2 <= abs(exponent) <= 16:
        number = int(abs(exponent))
        return (number.bit_length() + number.bit_count() - 2 + (exponent < 0)) * outputs[0].numel()
    return outputs[0].numel()


def _gelu(arguments: Arguments, outputs: tuple[torch.Tensor, ...]) -> int:
    """By tanh 0.5 x (1 + tanh(c (x + d x x x))), by erf 0.5 x (1 + erf(c x))."""
    return (9 if arguments.get("approximate") == "tanh" else 5) * outputs[0].numel()


def _gelu_backward(arguments: Arguments, outputs: tuple[torch.Tensor, ...]) -> int:
    """By erf dy (cdf + x pdf), with cdf 0.5 (1 + erf(c x)) and pdf d exp(-x x / 2)."""
    return (18 if arguments.get("approximate") == "tanh" else 11) * outputs[0].numel()


def _pooling(arguments: Arguments, outputs: tuple[torch.Tensor, ...]) -> int:
    kernel = [*arguments["kernel_size"]]
    return prod(kernel if len(kernel) > 1 else kernel * 2) * outputs[0].numel()


_SPECIAL: dict[str, Formula] = {
    "add": _add,
    "sub": _add,
    "rsub": _add,
    "pow": _power,
    "gelu": _gelu,
    "gelu_backward": _gelu_backward,
    "avg_pool2d": _pooling,
    "max_pool2d_with_indices": _pooling,
    "nll_loss_forward": lambda arguments, _: arguments["target"].numel(),  # the sum, of one value a row
    "addmv": lambda arguments, _: 2 * arguments["mat"].numel() + arguments["self"].numel(),
}


def _largest(arguments: Arguments) -> int:
    return max((one.numel() for one in arguments.values() if isinstance(one, torch.Tensor)), default=0)


def _scales(arguments: Arguments) -> int:
    return sum(arguments.get(name) is not None for name in ("weight", "bias"))


def _is_floating(arguments: Arguments, outputs: tuple[torch.Tensor, ...]) -> bool:
    tensors = [*outputs, *(one for one in arguments.values() if isinstance(one, torch.Tensor))]
    return any(one.is_floating_point() or one.is_complex() for one in tensors)
