"""Softmax and norms, which go over each element once, forward and backward.

FLOPs are counted as in this program's kernels (`WorkFormula`) where a kernel of it computes the same; else
they are a matter of the implementation, and the bytes alone are given: all of them are bound by memory.
"""

from collections.abc import Callable, Mapping
from math import prod

from roofscope.profiling.traces.work.call import Call, Operand, itemsize, type_label, type_numbered, unknown
from roofscope.profiling.traces.work.operator_work import OperatorWork, bytes_of

Formula = Callable[[Call], OperatorWork]
_SOFTMAX_FLOPS = 5  # maximum, difference, exp, sum, division
_LAYER_NORM_FLOPS = 8  # with weight and bias, as in kernels/layer_norm
_RMS_NORM_FLOPS = 4  # with a weight, as in kernels/rms_norm


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


def _batch_norm(trains_at: int | None, stats: tuple[int, ...] = (3, 4)) -> Formula:
    """``native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)``.

    In training the mean and deviation of each channel are written, and the running ones again; what cuDNN
    reserves beside them is its own affair. ``trains_at`` None: it always trains.
    """

    def work(call: Call) -> OperatorWork:
        x = call.tensor(0)
        if len(x.dims) < 2:
            unknown("its recorded shapes do not fit")
        is_training = trains_at is None or call.flag(trains_at)
        running = call.given(*stats)
        written = x.elements * itemsize(x.dtype)
        if is_training:
            written += 2 * x.dims[1] * _sums_size(x.dtype)
            written += sum(each.elements * itemsize(each.dtype) for each in running)
        read = bytes_of([x, *call.given(1, 2), *running])
        return OperatorWork(type_label(x.dtype), None, read, written)

    return work


def _batch_norm_backward(grad_at: int, input_at: int, train_at: int | None, mask_at: int | None) -> Formula:
    """``native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, ...)``.

    Behind them ``save_invstd, train, eps, output_mask``. cuDNN's and MIOpen's have the input first, and give
    all three gradients.
    """

    def work(call: Call) -> OperatorWork:
        grad, x = call.tensor(grad_at), call.tensor(input_at)
        if len(x.dims) < 2:
            unknown("its recorded shapes do not fit")
        trains = train_at is None or call.flag(train_at)
        wanted = call.flags(mask_at) if mask_at is not None else (True, True, True)
        weight = call.given(2)
        read = bytes_of([grad, x, *weight, *call.given(*((5, 6) if trains else (3, 4)))])
        size = itemsize(weight[0].dtype if weight else x.dtype)
        written = x.elements * itemsize(x.dtype) * wanted[0] + x.dims[1] * size * sum(wanted[1:])
        return OperatorWork(type_label(x.dtype), None, read, written)

    return work


def _group_norm(call: Call) -> OperatorWork:
    """``native_group_norm(input, weight, bias, N, C, HxW, group, eps)``: y, mean and deviation a group."""
    x, scales = call.tensor(0), call.given(1, 2)
    groups = call.number(3) * call.number(6)
    of_group = itemsize(scales[0].dtype if scales else x.dtype)
    written = x.elements * itemsize(x.dtype) + 2 * groups * of_group
    return OperatorWork(type_label(x.dtype), None, bytes_of([x, *scales]), written)


def _group_norm_backward(call: Call) -> OperatorWork:
    """``native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)``."""
    grad, x, weight, wanted = call.tensor(0), call.tensor(1), call.given(4), call.flags(9)
    read = bytes_of([grad, x, call.tensor(2), call.tensor(3), *weight])
    size = itemsize(weight[0].dtype if weight else x.dtype)
    written = x.elements * itemsize(x.dtype) * wanted[0] + call.number(6) * size * sum(wanted[1:])
    return OperatorWork(type_label(x.dtype), None, read, written)


FORMULAS: Mapping[str, Formula] = {
    "aten::_softmax": _softmax,
    "aten::_log_softmax": _softmax,
    "aten::_softmax_backward_data": _softmax_backward,
    "aten::_log_softmax_backward_data": _softmax_backward,
    "aten::native_layer_norm": _layer_norm,
    "aten::native_layer_norm_backward": _norm_backward((3, 4), 5, 7),
    "aten::_fused_rms_norm": _rms_norm,
    "aten::_fused_rms_norm_backward": _norm_backward((3,), 4, 5),
    "aten::native_batch_norm": _batch_norm(5),
    "aten::cudnn_batch_norm": _batch_norm(5),
    "aten::miopen_batch_norm": _batch_norm(5),
    "aten::_batch_norm_with_update": _batch_norm(None),
    "aten::native_batch_norm_backward": _batch_norm_backward(0, 1, 7, 9),
    "aten::cudnn_batch_norm_backward": _batch_norm_backward(1, 0, None, None),
    "aten::miopen_batch_norm_backward": _batch_norm_backward(1, 0, None, None),
    "aten::native_group_norm": _group_norm,
    "aten::native_group_norm_backward": _group_norm_backward,
}
