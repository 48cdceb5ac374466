"""Decoding with a paged cache by XQA, TensorRT-LLM's kernel in FlashInfer.

It takes our table and lengths as they are and splits sequences by itself, with no plan. It is compiled for a
page, a head and a group, at the first call.
"""

import torch
from flashinfer.decode import xqa_batch_decode_with_kv_cache

from roofscope import Refusal

DOMAIN = (
    "(page == 16 or page == 32 or page == 64 or page == 128) and (dim == 64 or dim == 128) and group <= 16"
)

Tensor = torch.Tensor
_WORKSPACE_BYTES = 256 * 2**20

_workspaces: dict[torch.device, Tensor] = {}


def run(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Each query's mean of its sequence's values, (batch, heads, dim); ``reference.py`` has the shapes."""
    (_, heads, dim), (_, page, kv_heads, _) = q.shape, k.shape
    if page not in (16, 32, 64, 128) or dim not in (64, 128):
        raise Refusal(f"XQA takes pages of 16 to 128 keys and heads of 64 or 128, not {page} and {dim}.")
    if heads > 16 * kv_heads:
        raise Refusal(f"XQA is compared on groups of up to 16 query heads, not {heads // kv_heads}.")
    o = torch.empty_like(q)
    if not q.numel():
        return o
    if q.device not in _workspaces:  # it has semaphores, which every call finds and leaves at 0
        _workspaces[q.device] = torch.zeros(_WORKSPACE_BYTES, dtype=torch.uint8, device=q.device)
    counts, longest = lengths.view(torch.uint32), table.shape[1] * page
    xqa_batch_decode_with_kv_cache(
        q, (k, v), _workspaces[q.device], table, counts, longest, bmm1_scale=dim**-0.5, out=o
    )
    return o
