"""Tensor maps: how Hopper's copy engine (TMA) sees a tensor, made on the host."""

import ctypes
import functools
import itertools
import operator
from typing import Any

import torch

from roofscope.profiling.worker.cuda_calls import checked, driver
from roofscope.profiling.worker.failures import Refusal

_TYPE_NAMES = {
    torch.float32: "FLOAT32",
    torch.float16: "FLOAT16",
    torch.bfloat16: "BFLOAT16",
    torch.uint8: "UINT8",
}
_LINE = 128  # bytes of a line of L2


def tensor_map(tensor: torch.Tensor, box: tuple[int, ...], *, brings_lines: bool = True) -> ctypes.Array[Any]:
    """A tensor in boxes of as many dimensions, for ``const __grid_constant__ CUtensorMap``.

    Beyond its edges the tensor reads as zeros. Boxes of 128 bytes a row are swizzled for wgmma. The tensor
    must not be empty, must start on a multiple of 16 bytes, and its rows must be of neighbours, each a
    multiple of 16 bytes from the next. L2 ``brings_lines`` whole where a box has a part of them.
    """
    shape = tuple(tensor.shape)
    # Of a dimension of one element torch may give any stride.
    between = tuple(itertools.accumulate(shape[:0:-1], operator.mul))[::-1]
    outer = between if tensor.is_contiguous() else tensor.stride()[:-1]
    return _encoded(tensor.data_ptr(), tensor.dtype, shape, outer, box, brings_lines)


def needs_hopper(key: str, device: torch.device) -> None:
    """Raises Refusal where there is no wgmma, which only compute capability 9.0 has."""
    if device.type != "cuda" or torch.cuda.get_device_capability(device) != (9, 0):
        raise Refusal(f"{key} needs wgmma, which only compute capability 9.0 (Hopper) has.")


@functools.lru_cache(maxsize=4096)
def _encoded(
    address: int,
    dtype: torch.dtype,
    shape: tuple[int, ...],
    outer: tuple[int, ...],
    box: tuple[int, ...],
    brings_lines: bool,
) -> ctypes.Array[Any]:
    cuda = driver()

    # The driver counts dimensions from the innermost one, whose stride it leaves out.
    sizes = shape[::-1]
    strides = [dtype.itemsize * elements for elements in outer[::-1]]
    row_bytes = box[-1] * dtype.itemsize
    # A row that begins amid a line of L2 lies in one more of them, and would bring its neighbours too.
    promotion = "L2_128B" if any(stride % _LINE for stride in strides) else "L2_256B"
    if not brings_lines:
        promotion = "NONE"
    returned = cuda.cuTensorMapEncodeTiled(
        getattr(cuda.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_TYPE_NAMES[dtype]}"),
        len(shape),
        address,
        [cuda.cuuint64_t(size) for size in sizes],
        [cuda.cuuint64_t(stride) for stride in strides],
        [cuda.cuuint32_t(span) for span in box[::-1]],
        [cuda.cuuint32_t(1)] * len(shape),
        cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        cuda.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B
        if row_bytes == 128
        else cuda.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE,
        getattr(cuda.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}"),
        cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    encoded = checked(returned, f"A tensor map of {' x '.join(map(str, shape))} cannot be made")
    words = ctypes.c_ulonglong * 16
    return words.from_buffer_copy(ctypes.string_at(encoded.getPtr(), ctypes.sizeof(words)))
