"""Launches ``cuda_naive.cu``: decoding with a paged cache, a block for each query head."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.paged_decode.pool import require_pool

DOMAIN = "dim <= 256 and batch * pages * page < 2**31 and batch * kv_heads * group < 2**31"
MOST_DIM = 256
THREADS = 256

Tensor = torch.Tensor


def run(program: CudaProgram, q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Each query's mean of its sequence's values, (batch, heads, dim); ``reference.py`` has the shapes.

    A sequence whose table names a page that is not in the pool has NaN, one of no keys 0.
    """
    require_pool("paged_decode/cuda_naive", q, k, range(1, MOST_DIM + 1))
    o = torch.empty_like(q)
    (batch, heads, dim), (pool, page, kv_heads, _) = q.shape, k.shape
    program.launch(
        *("decode", batch * heads, THREADS, q, k, v, table, lengths, o),
        *(heads, kv_heads, pool, table.shape[1], page, dim),
    )
    return o
