"""Pools and upsampling: each element of the input is read once, each of the result written once.

FLOPs, comparisons or weights of an interpolation, are a matter of the implementation. Places of arguments as
in `aten/src/ATen/native/native_functions.yaml`.
"""

from collections.abc import Callable, Mapping
from math import prod

from roofscope.profiling.traces.work.call import Call, itemsize, type_label, unknown
from roofscope.profiling.traces.work.operator_work import OperatorWork, bytes_of

Formula = Callable[[Call], OperatorWork]
_INDEX = itemsize("long int")


def _windows(size: int, kernel: int, step: int, pad: int, spread: int, is_rounded_up: bool) -> int:
    """As `pooling_output_shape` of aten/src/ATen/native/Pool.h: rounded up, none begins in the padding."""
    room = size + 2 * pad - spread * (kernel - 1) - 1
    count = (room + (step - 1 if is_rounded_up else 0)) // step + 1
    return count - (is_rounded_up and (count - 1) * step >= size + pad)


def _pool(dilation: int | None, ceil_mode: int, index_bytes: int) -> Formula:
    """``max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode)`` and ``avg_pool2d``."""

    def work(call: Call) -> OperatorWork:
        x = call.tensor(0)
        if len(x.dims) not in (3, 4):
            unknown("its recorded shapes do not fit")
        kernel, pads = call.numbers(1, 2), call.numbers(3, 2)
        steps = call.numbers(2, 2) if call.text(2) != "[]" else kernel
        spread = call.numbers(dilation, 2) if dilation is not None else (1, 1)
        if min((*kernel, *steps, *spread)) < 1:
            unknown("its recorded arguments do not fit")
        is_rounded_up = call.flag(ceil_mode)
        out = [
            _windows(size, k, s, p, d, is_rounded_up)
            for size, k, s, p, d in zip(x.dims[-2:], kernel, steps, pads, spread, strict=True)
        ]
        if min(out) < 1:
            unknown("its recorded shapes do not fit")
        written = prod(x.dims[:-2]) * prod(out) * (itemsize(x.dtype) + index_bytes)
        return OperatorWork(type_label(x.dtype), None, x.byte_count, written)

    return work


def _max_pool_backward(call: Call) -> OperatorWork:
    """``max_pool2d_with_indices_backward(grad_output, self, ..., indices)``: of the input only its shape."""
    grad, x = call.tensor(0), call.tensor(1)
    read = bytes_of([grad, call.tensor(7)])
    return OperatorWork(type_label(grad.dtype), None, read, x.elements * itemsize(grad.dtype))


def _to_size(call: Call) -> OperatorWork:
    """``upsample_nearest2d(self, output_size, ...)``, ``_adaptive_avg_pool2d(self, output_size)``."""
    x = call.tensor(0)
    sizes = call.numbers(1)
    if len(sizes) + 1 not in (len(x.dims), len(x.dims) - 1) or min(sizes) < 1:
        unknown("its recorded shapes do not fit")
    written = prod(x.dims[: -len(sizes)]) * prod(sizes) * itemsize(x.dtype)
    return OperatorWork(type_label(x.dtype), None, x.byte_count, written)


def _to_size_backward(call: Call) -> OperatorWork:
    """``upsample_nearest2d_backward(grad_output, output_size, input_size, ...)``."""
    grad, sizes = call.tensor(0), call.numbers(2)
    if len(sizes) != len(grad.dims) or sizes[:2] != grad.dims[:2]:
        unknown("its recorded shapes do not fit")
    return OperatorWork(type_label(grad.dtype), None, grad.byte_count, prod(sizes) * itemsize(grad.dtype))


_UPSAMPLINGS = (
    *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact2d"),
    *("upsample_linear1d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d"),
)
FORMULAS: Mapping[str, Formula] = {
    "aten::max_pool2d_with_indices": _pool(4, 5, _INDEX),
    "aten::max_pool2d_with_indices_backward": _max_pool_backward,
    "aten::avg_pool2d": _pool(None, 4, 0),
    "aten::_adaptive_avg_pool2d": _to_size,
    **{f"aten::{name}": _to_size for name in _UPSAMPLINGS},
    **{f"aten::{name}_backward": _to_size_backward for name in _UPSAMPLINGS},
}
