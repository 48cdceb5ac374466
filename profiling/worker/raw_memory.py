"""Memory by its address, and tensors as the integers that their bits are."""

from typing import Any

import torch

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def as_words(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, each element an integer: NaN is then equal to itself, and nothing is rounded."""
    return tensor.view(_WORDS[tensor.element_size()])


def tensor_at(
    address: int, shape: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """A tensor over a GPU's memory, which it does not own."""
    byte_count = extent_bytes(shape, stride, dtype)
    if not byte_count:
        return torch.empty(shape, dtype=dtype, device=device)
    raw = torch.as_tensor(_Bytes(address, byte_count), device=device)
    return raw.view(dtype).as_strided(shape, stride)


def extent_bytes(shape: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype) -> int:
    """From the first byte of such a tensor to the end of its last element."""
    if 0 in shape:
        return 0
    last = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return (last + 1) * dtype.itemsize


class _Bytes:
    """Memory under the CUDA array interface, version 3, as bytes because that lacks bfloat16."""

    def __init__(self, address: int, byte_count: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (byte_count,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }
