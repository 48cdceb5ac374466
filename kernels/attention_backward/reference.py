"""Gradients of attention in float64, a head and a block of queries at a time: the judge, never timed.

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
    q, k, v, o, lse, do = (x.double() for x in inputs)
    dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for head, queries in blocks(q):
        seen = keys_of(queries, causal=causal)
        keys, values, upstream = k[head][seen], v[head][seen], do[head][queries]
        p = scaled_products(q, k, head, queries, causal=causal).sub_(lse[head][queries, None]).exp_()
        dv[head][seen] += p.T @ upstream
        ds = upstream @ values.T
        ds -= (upstream * o[head][queries]).sum(dim=1, keepdim=True)
        ds *= p
        dq[head][queries] = ds @ keys
        dk[head][seen] += ds.T @ q[head][queries]
    scale = q.shape[3] ** 0.5  # at the end: the seq x seq ds would need a pass of their own
    return dq.div_(scale), dk.div_(scale), dv
