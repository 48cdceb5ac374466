"""Decoding with a paged cache by FlashInfer's wrapper, with its FlashAttention-2 on tensor cores.

Its plan, how sequences are split, is host work: a server makes it once a step for all layers, from lengths
that it knows there. So it is made here where lengths are others than at the last call of a size, and outside
of a graph; a graph holds all but the plan.
"""

import torch
from flashinfer import BatchDecodeWithPagedKVCacheWrapper

from roofscope import Refusal

DOMAIN = "dim == 64 or dim == 128 or dim == 256"

Tensor = torch.Tensor
_WORKSPACE_BYTES = 128 * 2**20  # what its documentation recommends

# Of sizes: lengths and a wrapper that is planned for them, the newest last. None goes: graphs may read it.
_plans: dict[tuple[object, ...], list[tuple[list[int], BatchDecodeWithPagedKVCacheWrapper]]] = {}
_workspaces: dict[torch.device, Tensor] = {}


def run(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Each query's mean of its sequence's values, (batch, heads, dim); ``reference.py`` has the shapes."""
    if q.shape[2] not in (64, 128, 256):
        raise Refusal(f"FlashInfer takes heads of 64, 128 or 256 elements here, not {q.shape[2]}.")
    if not q.numel():
        return torch.empty_like(q)
    plans = _plans.setdefault((q.device, q.dtype, q.shape, k.shape[1:], table.shape), [])
    if not torch.cuda.is_current_stream_capturing():
        now = lengths.tolist()
        if not plans or plans[-1][0] != now:
            plans.append((now, _planned(q, k, table, now)))
    elif not plans:
        raise Refusal("FlashInfer plans on the host: a graph can hold its second call of a size.")
    wrapper = plans[-1][1]
    wrapper._paged_kv_indices_buf = table.view(-1)  # else the table of the plan is read
    return wrapper.run(q, (k, v))


def _planned(q: Tensor, k: Tensor, table: Tensor, lengths: list[int]) -> BatchDecodeWithPagedKVCacheWrapper:
    """Raises Refusal where a row of the table names pages that do not count: it wants them packed."""
    (batch, heads, dim), (_, page, kv_heads, _), pages = q.shape, k.shape, table.shape[1]
    last = [min(length, pages * page) - (pages - 1) * page for length in lengths]
    if min(last) < 1:
        raise Refusal("FlashInfer reads packed tables: here each sequence has to reach its last page.")
    if q.device not in _workspaces:
        _workspaces[q.device] = torch.empty(_WORKSPACE_BYTES, dtype=torch.uint8, device=q.device)
    wrapper = BatchDecodeWithPagedKVCacheWrapper(_workspaces[q.device], use_tensor_cores=True, backend="fa2")
    begins = torch.arange(0, (batch + 1) * pages, pages, dtype=torch.int32)
    counts = torch.tensor(last, dtype=torch.int32)
    wrapper.plan(begins, table.view(-1), counts, heads, kv_heads, dim, page, q_data_type=q.dtype)
    return wrapper
