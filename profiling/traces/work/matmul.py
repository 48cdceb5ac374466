"""Matmuls and convolutions. An FMA is 2 FLOPs; what is added to the product afterwards is not counted.

Both as in `torch.utils.flop_counter` (mm_flop, addmm_flop, bmm_flop, baddbmm_flop, conv_flop_count), so that
a figure can be held against torch's own.
"""

from collections.abc import Callable, Mapping
from math import prod

from roofscope.profiling.traces.work.call import Call, Operand, itemsize, type_label, type_numbered, unknown
from roofscope.profiling.traces.work.operator_work import OperatorWork, bytes_of


def _matmul(a: Operand, b: Operand, added: list[Operand], result: str = "") -> OperatorWork:
    """``[..., M, K] @ [..., K, N]``: 2 M N K FLOPs for each matrix."""
    if (
        len(a.dims) != len(b.dims)
        or len(a.dims) < 2
        or a.dims[:-2] != b.dims[:-2]
        or a.dims[-1] != b.dims[-2]
    ):
        unknown("its recorded shapes do not fit")
    *batch, rows, depth = a.dims
    columns = b.dims[-1]
    written = prod(batch) * rows * columns * itemsize(result or a.dtype)
    return OperatorWork(
        type_label(a.dtype),
        2 * prod(batch) * rows * columns * depth,
        bytes_of([a, b, *added]),
        written,
        multiplies=True,
    )


def _mm(call: Call) -> OperatorWork:
    """``mm(self, mat2)`` and ``bmm``."""
    return _matmul(call.tensor(0), call.tensor(1), [])


def _addmm(call: Call) -> OperatorWork:
    """``addmm(self, mat1, mat2, beta, alpha)`` and ``baddbmm``; with beta 0 nothing is read of self."""
    is_added = call.text(3) not in ("0", "0.")
    return _matmul(call.tensor(1), call.tensor(2), call.given(0) if is_added else [])


def _linear(call: Call) -> OperatorWork:
    """``linear(input, weight, bias)``: the weight is [N, K]."""
    a, weight = call.tensor(0), call.tensor(1)
    if len(weight.dims) != 2 or not a.dims or a.dims[-1] != weight.dims[1]:
        unknown("its recorded shapes do not fit")
    rows, columns = prod(a.dims[:-1]), weight.dims[0]
    read = bytes_of([a, weight, *call.given(2)])
    written = rows * columns * itemsize(a.dtype)
    return OperatorWork(type_label(a.dtype), 2 * rows * columns * a.dims[-1], read, written, multiplies=True)


def _scaled_mm(call: Call) -> OperatorWork:
    """``_scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype)``."""
    return _matmul(call.tensor(0), call.tensor(1), call.given(2, 3, 4, 5), type_numbered(call.text(6)))


# Where stride, padding, dilation, transposed, output padding and groups stand; None: not an argument.
_Places = tuple[int, int, int, int | None, int | None, int | None]
_CONVOLUTIONS: Mapping[str, _Places] = {
    "aten::convolution": (3, 4, 5, 6, 7, 8),
    "aten::_convolution": (3, 4, 5, 6, 7, 8),
    "aten::convolution_overrideable": (3, 4, 5, 6, 7, 8),
    "aten::cudnn_convolution": (3, 2, 4, None, None, 5),
}


def _convolution(call: Call) -> OperatorWork:
    """2 N C_out (C_in / groups) taps outputs, taps on padding among them, as a direct convolution does."""
    stride, padding, dilation, transposed, output_padding, groups = _CONVOLUTIONS[call.name]
    x, weight = call.tensor(0), call.tensor(1)
    is_transposed = transposed is not None and call.flag(transposed)
    space = len(x.dims) - 2
    if space < 1 or len(weight.dims) != len(x.dims):
        unknown("its recorded shapes do not fit")
    steps, pads = call.numbers(stride, space), call.numbers(padding, space)
    spread = call.numbers(dilation, space)
    extra = call.numbers(output_padding, space) if is_transposed and output_padding else (0,) * space
    parts = call.number(groups) if groups is not None else 1
    if min(steps) < 1 or min(spread) < 1 or parts < 1:
        unknown("its recorded arguments do not fit")
    axes = zip(x.dims[2:], weight.dims[2:], steps, pads, spread, extra, strict=True)
    if is_transposed:
        out = [(size - 1) * s - 2 * p + d * (taps - 1) + e + 1 for size, taps, s, p, d, e in axes]
        channels, computed = weight.dims[1] * parts, x.dims[2:]
    else:
        out = [(size + 2 * p - d * (taps - 1) - 1) // s + 1 for size, taps, s, p, d, _ in axes]
        channels, computed = weight.dims[0], tuple(out)
    if min(out) < 1:
        unknown("its recorded shapes do not fit")
    return OperatorWork(
        type_label(x.dtype),
        2 * x.dims[0] * prod(computed) * weight.elements,
        bytes_of([x, weight, *(call.given(2) if transposed is not None else [])]),
        x.dims[0] * channels * prod(out) * itemsize(x.dtype),
        multiplies=True,
    )


def _convolution_backward(call: Call) -> OperatorWork:
    """As many FLOPs as forward for the gradient of the input, and as many for that of the weight.

    ``convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
    output_padding, groups, output_mask)``; the bias's gradient is a sum that another operator computes.
    """
    grad, x, weight = call.tensor(0), call.tensor(1), call.tensor(2)
    wanted = call.flags(10)
    if len(wanted) != 3 or len(grad.dims) != len(x.dims) or len(x.dims) < 3:
        unknown("its recorded shapes do not fit")
    computed = x.dims[2:] if call.flag(7) else grad.dims[2:]
    once = 2 * x.dims[0] * prod(computed) * weight.elements
    read = [grad, *([weight] if wanted[0] else []), *([x] if wanted[1] else [])]
    written = [x.elements * wanted[0], weight.elements * wanted[1]]
    return OperatorWork(
        type_label(x.dtype),
        once * (wanted[0] + wanted[1]),
        bytes_of(read),
        sum(written) * itemsize(x.dtype),
        multiplies=True,
    )


FORMULAS: Mapping[str, Callable[[Call], OperatorWork]] = {
    "aten::mm": _mm,
    "aten::bmm": _mm,
    "aten::addmm": _addmm,
    "aten::baddbmm": _addmm,
    "aten::linear": _linear,
    "aten::_scaled_mm": _scaled_mm,
    "aten::convolution_backward": _convolution_backward,
    **dict.fromkeys(_CONVOLUTIONS, _convolution),
}
