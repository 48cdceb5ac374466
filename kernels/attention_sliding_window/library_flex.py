"""Sliding-window attention by PyTorch's FlexAttention: a mask as a function, a Triton kernel made of it."""

import functools

import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from roofscope import Refusal
from roofscope.kernels.attention_sliding_window.spec import WINDOW

Tensor = torch.Tensor
SMALLEST_HEAD = 16  # elements

_compiled = torch.compile(flex_attention, dynamic=False)


def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    if not q.numel():
        return torch.empty_like(q)
    if q.shape[3] < SMALLEST_HEAD:
        raise Refusal(f"FlexAttention in torch {torch.__version__} takes heads of {SMALLEST_HEAD} and more.")
    # Its type is a union, as it may return more than a tensor where it is asked to.
    found = _compiled(q, k, v, block_mask=_blocks(q.shape[2], q.device), enable_gqa=True)
    assert isinstance(found, Tensor)
    return found


@functools.lru_cache(maxsize=8)
def _blocks(seq: int, device: torch.device) -> BlockMask:
    """Which blocks of keys a block of queries sees; kept, as a model keeps it for all of its layers."""
    window = WINDOW  # of this function: torch.compile would import this module once more to find its own

    def sees(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (key <= query) & (query - key < window)

    return create_block_mask(sees, None, None, seq, seq, device=device)
