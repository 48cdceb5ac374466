"""Launches ``cuda_naive.cu``: the gated delta rule token by token, a block a head of values."""

import torch

from roofscope import CudaProgram, Refusal

DOMAIN = "dim == 64 or dim == 128"


def run(
    program: CudaProgram,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
) -> torch.Tensor:
    """What queries read from the state; q, k (batch, seq, heads, dim), v (batch, seq, heads * groups, dim).

    ``g`` and ``beta`` are (batch, seq, heads * groups), float32. Raises Refusal for heads of other than
    64 or 128 elements.
    """
    batch, seq, heads, dim = q.shape
    if dim not in (64, 128):
        raise Refusal(f"gated_delta_rule/cuda_naive takes heads of 64 or 128 elements, not {dim}.")
    o = torch.empty_like(v)
    if v.numel():
        name = f"gated_delta_rule_{dim}"
        program.launch(
            name, batch * v.shape[2], 2 * dim, q, k, v, g, beta, o, seq, heads, v.shape[2] // heads
        )
    return o
