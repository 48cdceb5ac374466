"""What attention asks of its inputs, (batch, heads, seq, dim), and where its forward versions write."""

import torch

from roofscope import Refusal

_DIMS = (64, 128)
_SHORT = (torch.float16, torch.bfloat16)


def require_dim(key: str, dim: int) -> None:
    """Raises Refusal under the name ``key`` for heads of other than 64 or 128 elements."""
    if dim not in _DIMS:
        raise Refusal(f"{key} takes heads of 64 or 128 elements, not {dim}.")


def require_16_bits(key: str, q: torch.Tensor) -> None:
    """Raises Refusal under the name ``key`` where elements are no 16-bit floats."""
    if q.dtype not in _SHORT:
        raise Refusal(f"{key} multiplies 16-bit elements.")


def results_of(q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Unwritten: the output, and in float32 a number for each query, (batch, heads, seq)."""
    return torch.empty_like(q), torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)


def aligned(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """Copies where a tensor does not start at whole 16 bytes, as the copy engine does; a fresh copy does."""
    return [x if x.data_ptr() % 16 == 0 else x.clone() for x in tensors]
