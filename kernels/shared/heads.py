"""What attention asks of its inputs, (batch, heads, seq, dim), and where its forward versions write."""

import torch

from roofscope import Refusal

DIMS = (64, 128)  # of heads, as every version takes them
MORE_DIMS = (64, 96, 128, 192, 256)  # as some forward versions do
_SHORT = (torch.float16, torch.bfloat16)
_LARGEST_BLOCK = 128  # rows, of which the last may begin where a head ends
_MOST_OFFSETS = 2**31


def require_like(key: str, q: torch.Tensor, **others: torch.Tensor) -> None:
    """Raises Refusal under the name ``key`` where another tensor has not the shape and type of ``q``."""
    for label, x in others.items():
        if x.shape != q.shape or x.dtype != q.dtype or x.device != q.device:
            raise Refusal(
                f"{key} takes tensors of one shape, type and device: q has {_described(q)}, "
                f"{label} has {_described(x)}."
            )


def require_dim(key: str, dim: int, dims: tuple[int, ...] = DIMS) -> None:
    """Raises Refusal under the name ``key`` for heads of other than ``dims`` elements."""
    if dim not in dims:
        *others, last = map(str, dims)
        raise Refusal(f"{key} takes heads of {', '.join(others)} or {last} elements, not {dim}.")


def require_16_bits(key: str, q: torch.Tensor) -> None:
    """Raises Refusal under the name ``key`` where elements are no 16-bit floats."""
    if q.dtype not in _SHORT:
        raise Refusal(f"{key} multiplies 16-bit elements.")


def require_32_bit_offsets(key: str, seq: int, dim: int) -> None:
    """Raises Refusal under the name ``key`` where 32 bits do not count the elements of a head.

    An offset of 64 bits for each row of a block would take registers from every size that is in use.
    """
    most = _MOST_OFFSETS // dim - _LARGEST_BLOCK
    if seq > most:
        raise Refusal(f"{key} counts the elements of a head in 32 bits: {most} rows at most, not {seq}.")


def results_of(q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Unwritten: the output, and in float32 a number for each query, (batch, heads, seq)."""
    return empty_like(q), torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)


def empty_like(x: torch.Tensor) -> torch.Tensor:
    """Unwritten and contiguous, which torch's own is not where ``x`` is not."""
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def aligned(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """In one run from whole 16 bytes on, as the copy engine wants a tensor; copies where it is not."""
    return [
        x if x.is_contiguous() and x.data_ptr() % 16 == 0 else x.clone(memory_format=torch.contiguous_format)
        for x in tensors
    ]


def _described(x: torch.Tensor) -> str:
    return f"{tuple(x.shape)} of {str(x.dtype).removeprefix('torch.')} on {x.device}"
