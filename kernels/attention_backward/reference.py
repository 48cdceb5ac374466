"""Gradients of attention in float64, some heads and a block of queries at a time: the judge, never timed.

They follow from ``o`` and ``lse`` as given, rounded as these are: that is what every implementation is given.
"""

import torch

from roofscope.kernels.attention.reference import attend, blocks, keys_of, scaled_products


def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv from q, k, v, o, lse and do."""
    return gradients(*inputs, causal=False)


def derive(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """``o`` and ``lse`` of these q, k and v."""
    return attend(q, k, v, causal=False)


def gradients(*inputs: torch.Tensor, causal: bool) -> tuple[torch.Tensor, ...]:
    shape = inputs[0].shape
    q, k, v, o, lse, do = (x.double().flatten(0, 1) for x in inputs)
    dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for heads, queries in blocks(q):
        seen = keys_of(queries, causal=causal)
        keys, values, upstream = k[heads, seen], v[heads, seen], do[heads, queries]
        p = scaled_products(q, k, heads, queries, causal=causal).sub_(lse[heads, queries, None]).exp_()
        dv[heads, seen] += p.mT @ upstream
        ds = upstream @ values.mT
        ds -= (upstream * o[heads, queries]).sum(dim=2, keepdim=True)
        ds *= p
        dq[heads, queries] = ds @ keys
        dk[heads, seen] += ds.mT @ q[heads, queries]
    scale = q.shape[2] ** 0.5  # at the end: the seq x seq ds would need a pass of their own
    return tuple(x.view(shape) for x in (dq.div_(scale), dk.div_(scale), dv))
