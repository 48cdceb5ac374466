"""Matmuls. An FMA is 2 FLOPs; what is added to the product afterwards, or applied to it, is not counted.

As in `torch.utils.flop_counter` (mm_flop, addmm_flop, bmm_flop, baddbmm_flop), so that a figure can be held
against torch's own. Places of arguments as in `aten/src/ATen/native/native_functions.yaml`.
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


def _int_mm(call: Call) -> OperatorWork:
    """``_int_mm(self, mat2)``: of int8, summed in int32."""
    return _matmul(call.tensor(0), call.tensor(1), [], "int")


def _times_vector(matrix: Operand, vector: Operand, added: list[Operand]) -> OperatorWork:
    """``[M, K] @ [K]``: 2 M K FLOPs. Bound by memory, whatever does it: no tensor pipe is asked."""
    if len(matrix.dims) != 2 or vector.dims != matrix.dims[1:]:
        unknown("its recorded shapes do not fit")
    return OperatorWork(
        type_label(matrix.dtype),
        2 * matrix.elements,
        bytes_of([matrix, vector, *added]),
        matrix.dims[0] * itemsize(matrix.dtype),
    )


def _mv(call: Call) -> OperatorWork:
    return _times_vector(call.tensor(0), call.tensor(1), [])


def _addmv(call: Call) -> OperatorWork:
    """``addmv(self, mat, vec, beta, alpha)``."""
    is_added = call.text(3) not in ("0", "0.")
    return _times_vector(call.tensor(1), call.tensor(2), call.given(0) if is_added else [])


def _dot(call: Call) -> OperatorWork:
    """Multiplications and additions counted as FMAs, one an element."""
    a, b = call.tensor(0), call.tensor(1)
    if len(a.dims) != 1 or a.dims != b.dims:
        unknown("its recorded shapes do not fit")
    return OperatorWork(type_label(a.dtype), 2 * a.elements, bytes_of([a, b]), itemsize(a.dtype))


FORMULAS: Mapping[str, Callable[[Call], OperatorWork]] = {
    "aten::mm": _mm,
    "aten::bmm": _mm,
    "aten::addmm": _addmm,
    "aten::baddbmm": _addmm,
    "aten::linear": _linear,
    "aten::_scaled_mm": _scaled_mm,
    "aten::_int_mm": _int_mm,
    "aten::_addmm_activation": _addmm,
    "aten::mv": _mv,
    "aten::addmv": _addmv,
    "aten::dot": _dot,
    "aten::vdot": _dot,
}
