"""Causal attention over packed sequences by PyTorch's FlashAttention-2, which takes them as they lie.

It is what ``torch.nn.attention.varlen`` calls, whose arguments change from version to version. On a CPU, in
float32, and with heads that it does not take, sequences are taken one after another, and their lengths have
to come to the host first.
"""

import torch

from roofscope.kernels.attention_varlen.eager_loop import run as one_by_one
from roofscope.kernels.shared.torch_attention import flash_takes_heads

Tensor = torch.Tensor


def run(q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values it sees, (tokens, heads, dim); ``reference.py`` has the shapes."""
    if not q.numel() or q.device.type != "cuda" or q.element_size() != 2 or not flash_takes_heads(q.shape[2]):
        return one_by_one(q, k, v, bound, offsets)
    longest = bound.shape[0]
    return torch.ops.aten._flash_attention_forward(
        q, k, v, offsets, offsets, longest, longest, 0.0, True, False
    )[0]
