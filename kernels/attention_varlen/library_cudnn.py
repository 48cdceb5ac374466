"""Causal attention over packed sequences by cuDNN."""

import torch

from roofscope import Refusal

DOMAIN = "(dim == 64 or dim == 128) and batch >= 1 and shortest >= 1 and kv_heads >= 1"

Tensor = torch.Tensor


def run(q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values it sees, (tokens, heads, dim); ``reference.py`` has the shapes."""
    if not q.is_cuda or not q.numel() or q.shape[2] not in (64, 128):
        raise Refusal("cuDNN is compared on a GPU, on heads of 64 or 128 elements and one token and more.")
    longest = bound.shape[0]
    return torch.ops.aten._cudnn_attention_forward(
        q, k, v, None, offsets, offsets, longest, longest, False, 0.0, True, False
    )[0]
