"""Gradients of attention as PyTorch's autograd takes them on a GPU: FlashAttention-2's backward kernels.

On a CPU, and for heads that they do not take, the formula as it is written, the seq x seq weights in memory.
"""

import torch

from roofscope.kernels.shared.torch_attention import flash_takes_heads


def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv from q, k, v, o, lse and do."""
    return gradients(*inputs, causal=False)


def gradients(*inputs: torch.Tensor, causal: bool) -> tuple[torch.Tensor, ...]:
    q, k, v, o, lse, do = inputs
    if not q.is_cuda or not flash_takes_heads(q.shape[3]):
        return formula(*inputs, causal=causal)
    seq = q.shape[2]
    no_dropout = torch.empty(0, dtype=torch.int64, device=q.device)
    return torch.ops.aten._scaled_dot_product_flash_attention_backward(
        do, q, k, v, o, lse, None, None, seq, seq, 0.0, causal, no_dropout, no_dropout
    )


def formula(*inputs: torch.Tensor, causal: bool) -> tuple[torch.Tensor, ...]:
    """By the seq x seq weights, in the dtype of lse."""
    dtype, lse = inputs[0].dtype, inputs[4]
    q, k, v, o, _, do = (x.to(lse.dtype) for x in inputs)
    scale = q.shape[3] ** -0.5
    scores = scale * (q @ k.mT)
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    p = torch.exp(scores - lse[..., None])
    ds = scale * p * (do @ v.mT - (do * o).sum(dim=3, keepdim=True))
    return tuple(x.to(dtype) for x in (ds @ k, ds.mT @ q, p.mT @ do))
