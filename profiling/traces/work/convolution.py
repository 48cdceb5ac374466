"""Convolutions of ATen, cuDNN, MIOpen and oneDNN. An FMA is 2 FLOPs; the bias is not counted.

As conv_flop_count of `torch.utils.flop_counter` has it: 2 N C_out (C_in / groups) taps outputs, taps on
padding among them, which is what a direct convolution does. Places of arguments as in
`aten/src/ATen/native/native_functions.yaml`.
"""

from collections.abc import Callable, Mapping
from math import prod

from msgspec import Struct

from roofscope.profiling.traces.work.call import Call, Operand, itemsize, type_label, unknown
from roofscope.profiling.traces.work.operator_work import OperatorWork, bytes_of


class _Form(Struct, frozen=True):
    """Where an operator has its arguments; None: it has none."""

    stride: int
    padding: int
    dilation: int | None
    bias: int | None = 2
    groups: int | None = None
    transposed: int | None = None  # a flag
    output_padding: int | None = None
    is_transposed: bool = False  # always
    added: int | None = None  # a tensor as large as the result


_ATEN = _Form(3, 4, 5, groups=8, transposed=6, output_padding=7)
_MIOPEN = _Form(4, 3, 5, groups=6)
_SLOW = _Form(4, 5, None, bias=3)
_FORMS: Mapping[str, _Form] = {
    "aten::convolution": _ATEN,
    "aten::_convolution": _ATEN,
    "aten::convolution_overrideable": _ATEN,
    "aten::cudnn_convolution": _Form(3, 2, 4, bias=None, groups=5),
    "aten::cudnn_convolution_transpose": _Form(
        4, 2, 5, bias=None, groups=6, output_padding=3, is_transposed=True
    ),
    "aten::cudnn_convolution_relu": _Form(3, 4, 5, groups=6),
    "aten::cudnn_convolution_add_relu": _Form(5, 6, 7, bias=4, groups=8, added=2),
    "aten::miopen_convolution": _MIOPEN,
    "aten::miopen_depthwise_convolution": _MIOPEN,
    "aten::miopen_convolution_transpose": _Form(5, 3, 6, groups=7, output_padding=4, is_transposed=True),
    "aten::mkldnn_convolution": _MIOPEN,
    "aten::_slow_conv2d_forward": _SLOW,
    "aten::slow_conv3d_forward": _SLOW,
    "aten::_conv_depthwise2d": _Form(4, 5, 6, bias=3),
    "aten::conv_depthwise3d": _Form(4, 5, 6, bias=3),
}


class _Geometry(Struct, frozen=True):
    out: tuple[int, ...]  # sizes of the result in space
    channels: int
    computed: tuple[int, ...]  # places at which each tap is multiplied


def _geometry(call: Call, form: _Form, x: Operand, weight: Operand) -> _Geometry:
    space = len(x.dims) - 2
    if space < 1 or len(weight.dims) != len(x.dims):
        unknown("its recorded shapes do not fit")
    is_transposed = form.is_transposed or (form.transposed is not None and call.flag(form.transposed))
    steps, pads = call.numbers(form.stride, space), call.numbers(form.padding, space)
    spread = call.numbers(form.dilation, space) if form.dilation is not None else (1,) * space
    has_extra = is_transposed and form.output_padding is not None
    extra = call.numbers(form.output_padding or 0, space) if has_extra else (0,) * space
    parts = call.number(form.groups) if form.groups is not None else 1
    if min(steps) < 1 or min(spread) < 1 or parts < 1:
        unknown("its recorded arguments do not fit")
    axes = zip(x.dims[2:], weight.dims[2:], steps, pads, spread, extra, strict=True)
    if is_transposed:
        out = tuple((size - 1) * s - 2 * p + d * (taps - 1) + e + 1 for size, taps, s, p, d, e in axes)
        return _Geometry(out, weight.dims[1] * parts, x.dims[2:])
    out = tuple((size + 2 * p - d * (taps - 1) - 1) // s + 1 for size, taps, s, p, d, _ in axes)
    return _Geometry(out, weight.dims[0], out)


def _convolution(call: Call) -> OperatorWork:
    form = _FORMS[call.name]
    x, weight = call.tensor(0), call.tensor(1)
    found = _geometry(call, form, x, weight)
    if min(found.out) < 1:
        unknown("its recorded shapes do not fit")
    more = [at for at in (form.bias, form.added) if at is not None]
    return OperatorWork(
        type_label(x.dtype),
        2 * x.dims[0] * prod(found.computed) * weight.elements,
        bytes_of([x, weight, *call.given(*more)]),
        x.dims[0] * found.channels * prod(found.out) * itemsize(x.dtype),
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


def _gradient_of_input(call: Call) -> OperatorWork:
    """``cudnn_convolution_backward_input(self_size, grad_output, weight, padding, ...)`` of older torch.

    As many FLOPs as forward, which the gradient's places and the weight tell; the size is of what is written.
    """
    grad, weight = call.tensor(1), call.tensor(2)
    if len(grad.dims) != len(weight.dims) or len(grad.dims) < 3:
        unknown("its recorded shapes do not fit")
    size = call.text(0)
    return OperatorWork(
        type_label(grad.dtype),
        2 * grad.dims[0] * prod(grad.dims[2:]) * weight.elements,
        bytes_of([grad, weight]),
        prod(call.numbers(0)) * itemsize(grad.dtype) if size else None,
        multiplies=True,
    )


FORMULAS: Mapping[str, Callable[[Call], OperatorWork]] = {
    "aten::convolution_backward": _convolution_backward,
    "aten::cudnn_convolution_backward_input": _gradient_of_input,
    "aten::miopen_convolution_backward_input": _gradient_of_input,
    **dict.fromkeys(_FORMS, _convolution),
}
