"""Launches ``cuda_rings.cu``: decoding with a paged cache, sequences split where there are few."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.paged_decode.pool import parts_of, require_pool
from roofscope.kernels.shared.heads import aligned, require_16_bits

DOMAIN = "(dim == 64 or dim == 128) and batch * pages * page < 2**31 and batch * kv_heads * group < 2**31"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)

# As in cuda_rings.cu.
THREADS = 128
WARP = 32
BLOCK_KEYS = 64
RING_BYTES = 4 * 24 * 1024  # of the warps of a block
JOINING = 256  # threads of a block that joins the parts of a query head, at most
OTHER_BYTES = 2048  # shared by a block besides, the driver's part included

Tensor = torch.Tensor


def run(program: CudaProgram, q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Each query's mean of its sequence's values, (batch, heads, dim); ``reference.py`` has the shapes.

    A sequence whose table names a page that is not in the pool has NaN, one of no keys 0. Raises Refusal for
    float32 and heads of other than 64 or 128 elements.
    """
    key = "paged_decode/cuda_rings"
    require_16_bits(key, q)
    require_pool(key, q, k, (64, 128))
    o = torch.empty_like(q)
    if not q.numel():
        return o
    q, k, v = aligned(q, k, v)
    (batch, heads, dim), (pool, page, kv_heads, _), pages = q.shape, k.shape, table.shape[1]
    group = heads // kv_heads
    columns = 8 if group <= 8 else 16
    blocks = batch * kv_heads * -(-group // columns)
    tiles = -(-pages * page // BLOCK_KEYS)
    splits, together = parts_of(blocks, tiles, _slots(program), clusters=_has_clusters(program))
    apart = splits > 1 and not together
    parts = o.new_empty((batch * heads * splits, dim + 1) if apart else 0, dtype=torch.float32)
    means = parts.view(-1)
    logarithms = means[batch * heads * splits * dim :] if apart else means
    program.launch(
        *(f"decode_{dim}" if columns == 8 else f"decode_{dim}_wide", blocks * splits, THREADS),
        *(q, k, v, table, lengths, o, means, logarithms),
        *(batch, kv_heads, group, pool, pages, page, splits, int(together)),
        shared_bytes=RING_BYTES,
        overlaps=True,
        cluster=splits if together else 1,
    )
    if apart:
        arguments = (means, logarithms, lengths, o, heads, pages * page, splits)
        program.launch(f"join_{dim}", batch * heads, _joining(dim, splits), *arguments, overlaps=True)
    return o


def _slots(program: CudaProgram) -> int:
    """Blocks that run at once."""
    properties = torch.cuda.get_device_properties(program.device)
    of_one = properties.shared_memory_per_multiprocessor // (RING_BYTES + OTHER_BYTES)
    return properties.multi_processor_count * max(of_one, 1)


def _has_clusters(program: CudaProgram) -> bool:
    return torch.cuda.get_device_capability(program.device) >= (9, 0)


def _joining(dim: int, splits: int) -> int:
    """Threads that join a query head, in whole warps: a quarter of its elements for each part."""
    return min(-(-dim // 4 * splits // WARP) * WARP, JOINING)
