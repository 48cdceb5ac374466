"""Tensors and the stream as the CuTe DSL takes them.

A kernel gets bare pointers and builds its layouts from the sizes: what DLPack would bring along, at each
call, is known already.
"""

import cutlass
import torch
from cuda.bindings import driver
from cutlass import cute
from cutlass.cute.runtime import make_ptr

ELEMENTS = {
    torch.float32: cutlass.Float32,
    torch.float16: cutlass.Float16,
    torch.bfloat16: cutlass.BFloat16,
}
VECTOR_BYTES = 16  # the widest access


def pointer(tensor: torch.Tensor, alignment: int) -> cute.Pointer:
    """Of a tensor on a GPU whose address is a multiple of ``alignment`` bytes."""
    return typed(tensor.dtype, alignment, tensor.data_ptr())


def typed(dtype: torch.dtype, alignment: int, address: int = 0) -> cute.Pointer:
    """Without an address it is what a kernel is compiled for: only types count there."""
    return make_ptr(ELEMENTS[dtype], address, cute.AddressSpace.gmem, assumed_align=alignment)


def stream_of(tensor: torch.Tensor) -> driver.CUstream:
    """Torch's current stream on the tensor's device, which a CUDA graph may be recording."""
    return driver.CUstream(torch.cuda.current_stream(tensor.device).cuda_stream)


def vector_length(*tensors: torch.Tensor, extent: int) -> int:
    """Elements of a 16-byte access, where every row of ``extent`` elements allows it; else 1."""
    itemsize = tensors[0].element_size()
    fits = extent * itemsize % VECTOR_BYTES == 0
    return VECTOR_BYTES // itemsize if fits and is_aligned(*tensors) else 1


def is_aligned(*tensors: torch.Tensor) -> bool:
    """Whether all begin at a multiple of 16 bytes; torch's own do, views of them need not."""
    return all(tensor.data_ptr() % VECTOR_BYTES == 0 for tensor in tensors)
