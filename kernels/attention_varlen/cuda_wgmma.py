"""Launches ``cuda_wgmma.cu``: causal attention over packed sequences by TMA and wgmma on Hopper."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared.heads import aligned, require_16_bits, require_dim, require_like
from roofscope.kernels.shared.wgmma_attention import BAND, CONSUMERS, KEYS, WARPGROUP, shared_bytes

DOMAIN = "(dim == 64 or dim == 128) and batch*(128*shortest + 128)*kv_heads*group < 2**31"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)
KEY = "attention_varlen/cuda_wgmma"
SORTED_BYTES = 16
SORTERS = 256  # threads of a block, as in tiles.cuh
MOST_ROWS = 2**31

Tensor = torch.Tensor


def run(program: CudaProgram, q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values it sees, (tokens, heads, dim); ``reference.py`` has the shapes.

    Rows that are in no sequence are not written. Raises Refusal for float32, for heads of other than 64 or
    128 elements, beyond 32-bit counts, and where there is no wgmma.
    """
    (tokens, heads, dim), batch = q.shape, len(offsets) - 1
    require_16_bits(KEY, q)
    require_dim(KEY, dim)
    require_like(KEY, k, v=v)
    needs_hopper(KEY, q.device)
    keys = KEYS[dim]
    if batch * (bound.shape[0] + keys) * heads >= MOST_ROWS:
        raise Refusal(f"{KEY} counts the rows of all heads in 32 bits; these are more.")
    o = torch.empty_like(q, memory_format=torch.contiguous_format)
    if not q.numel() or not batch:
        return o
    queries = CONSUMERS[dim] * 64
    most = (tokens // queries + min(batch, tokens)) * heads  # each sequence has one that it does not fill
    sorted_sequences = torch.empty(batch + 1, SORTED_BYTES, dtype=torch.uint8, device=q.device)
    counter = torch.empty(1, dtype=torch.int32, device=q.device)
    program.launch(
        *("sort", -(-batch // SORTERS), SORTERS, offsets, sorted_sequences, counter),
        *(batch, tokens, heads, queries),
        overlaps=True,
    )
    maps = (
        tensor_map(x, (rows, 1, BAND))
        for x, rows in zip(aligned(q, k, v), (queries, keys, keys), strict=True)
    )
    program.launch(
        *(f"attention_{dim}", min(most, program.multiprocessor_count), (CONSUMERS[dim] + 1) * WARPGROUP),
        *(*maps, o, sorted_sequences, counter, batch, heads, heads // k.shape[1]),
        shared_bytes=shared_bytes(dim, keys),
        overlaps=True,
    )
    return o
