"""Launches ``cuda_naive.cu``: causal attention over packed sequences, a block for each query."""

import torch

from roofscope import CudaProgram, Refusal

DOMAIN = "dim <= 256"
MOST_DIM = 256
THREADS = 256

Tensor = torch.Tensor


def run(program: CudaProgram, q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values it sees, (tokens, heads, dim); ``reference.py`` has the shapes.

    Rows from the last of ``offsets`` on are not written. Raises Refusal for heads of more than 256 elements.
    """
    tokens, heads, dim = q.shape
    if dim > MOST_DIM:
        raise Refusal(f"attention_varlen/cuda_naive takes heads of {MOST_DIM} elements at most, not {dim}.")
    o = torch.empty_like(q)
    program.launch(
        *("attend", tokens * heads, THREADS, q, k, v, offsets, o),
        *(heads, k.shape[1], len(offsets) - 1, dim),
    )
    return o
