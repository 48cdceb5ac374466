"""Decoding with a paged cache in Triton: sequences in parts, and a kernel that joins them.

Formula: o[b, h] = sum over keys l of p[l] v[l], p the softmax of q[b, h] k[l] / sqrt(dim); key l of sequence
b lies in page table[b, l / page], row l % page. 4 keys dim FLOP a query head; the cache is read once.
Mapping: program (kv head, HEADS of its query heads, sequence, part of the sequence) walks along its keys in
tiles: it looks up where each lies, loads keys and values from there, and keeps a running maximum, sum and
mean for each query head. Query heads are rows of a product, of which there are 16 at least. A second kernel
joins the parts of a query head.
Idea: cuda_naive reads a head of keys again for each query head of its group, and has a block a query head,
which is too few where sequences are. Here a group's heads share what is loaded, and sequences are split:
split-KV decoding, Dao et al., "Flash-Decoding" (2023).
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.paged_decode.pool import MOST_SPLITS, require_pool, split_count
from roofscope.kernels.shared.heads import require_16_bits
from roofscope.kernels.shared.tuning import shared_memory_limit

DOMAIN = "(dim == 64 or dim == 128) and batch * pages * page < 2**31 and batch * kv_heads * group < 2**31"
KEYS = 64  # of a tile
LEAST_HEADS, MOST_HEADS = 16, 64
NUM_WARPS = 4
STAGES, FEW_STAGES = 3, 2  # of 32 KiB, where heads have 128 elements; few where a block has little memory
ENOUGH_BYTES = 128 * 1024  # of shared memory a block may have, for the former
PROGRAMS_AT_ONCE = 2  # of a multiprocessor
LOG2_E = tl.constexpr(1.4426950408889634)

Tensor = torch.Tensor


@triton.jit
def _part_of(length, part, parts, KEYS: tl.constexpr):
    """First key of a part of a sequence, and the first beyond it."""
    share = tl.cdiv(tl.cdiv(length, KEYS), parts) * KEYS
    begin = tl.minimum(part * share, length)
    return begin, tl.minimum(begin + share, length)


@triton.jit
def _decode(
    q,
    k,
    v,
    table,
    lengths,
    o,
    means,
    logarithms,
    batch,
    pool,
    pages,
    splits,
    kv_heads: tl.constexpr,
    page: tl.constexpr,
    GROUP: tl.constexpr,
    HEADS: tl.constexpr,
    DIM: tl.constexpr,
    KEYS: tl.constexpr,
    SPLITS: tl.constexpr,
    STAGES: tl.constexpr,
):
    program = tl.program_id(0)
    kv_head = program % kv_heads
    first_head = program // kv_heads % tl.cdiv(GROUP, HEADS) * HEADS
    program = program // kv_heads // tl.cdiv(GROUP, HEADS)
    sequence, part = program % batch, program // batch

    length = tl.minimum(tl.maximum(tl.load(lengths + sequence), 0), pages * page)
    begin, end = _part_of(length, part, splits, KEYS)
    table += sequence.to(tl.int64) * pages
    heads = first_head + tl.arange(0, HEADS)
    elements = tl.arange(0, DIM)
    query = (sequence.to(tl.int64) * kv_heads + kv_head) * GROUP + heads
    own = tl.load(q + query[:, None] * DIM + elements[None, :], mask=heads[:, None] < GROUP, other=0.0)

    highest = tl.full((HEADS,), -float("inf"), tl.float32)
    total = tl.zeros((HEADS,), tl.float32)
    mean = tl.zeros((HEADS, DIM), tl.float32)
    scale: tl.constexpr = LOG2_E / DIM**0.5
    for first in tl.range(begin, end, KEYS, num_stages=STAGES):
        keys = first + tl.arange(0, KEYS)
        named = tl.load(table + keys // page, mask=keys < end, other=0)
        is_page = (named >= 0) & (named < pool)  # the table is data: nothing beside the pool is read
        row = named.to(tl.int64) * page + keys % page
        at = (row * kv_heads + kv_head)[:, None] * DIM + elements[None, :]
        there = ((keys < end) & is_page)[:, None]
        score = tl.dot(own, tl.trans(tl.load(k + at, mask=there, other=0.0))) * scale
        score = tl.where(is_page[None, :], score, float("nan"))
        score = tl.where(keys[None, :] < end, score, -float("inf"))
        raised = tl.maximum(highest, tl.max(score, axis=1))
        rescale = tl.exp2(highest - raised)
        power = tl.exp2(score - raised[:, None])
        total = total * rescale + tl.sum(power, axis=1)
        values = tl.load(v + at, mask=there, other=0.0)
        mean = tl.dot(power.to(values.dtype), values, mean * rescale[:, None])
        highest = raised

    mean = tl.where(total[:, None] == 0.0, 0.0, mean / total[:, None])
    inside = heads < GROUP
    if SPLITS:
        result = query * splits + part
        tl.store(means + result[:, None] * DIM + elements[None, :], mean, mask=inside[:, None])
        tl.store(logarithms + result, highest + tl.log2(total), mask=inside)
    else:
        to = o + query[:, None] * DIM + elements[None, :]
        tl.store(to, mean.to(o.dtype.element_ty), mask=inside[:, None])


@triton.jit
def _join(
    means,
    logarithms,
    lengths,
    o,
    heads,
    capacity,
    splits,
    DIM: tl.constexpr,
    KEYS: tl.constexpr,
    PARTS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    length = tl.minimum(tl.maximum(tl.load(lengths + row // heads), 0), capacity)
    part = tl.arange(0, PARTS)
    begin, end = _part_of(length, part, splits, KEYS)
    there = (part < splits) & (begin < end)
    elements = tl.arange(0, DIM)
    logarithm = tl.load(logarithms + row * splits + part, mask=there, other=-float("inf"))
    # Nothing was summed where there is no key at all.
    top = tl.max(logarithm, axis=0)
    weight = tl.where(there, tl.exp2(logarithm - top), 0.0)
    at = (row * splits + part)[:, None] * DIM + elements[None, :]
    mean = tl.load(means + at, mask=there[:, None], other=0.0)
    total = tl.sum(weight, axis=0)
    joined = tl.sum(mean * weight[:, None], axis=0) / tl.where(total == 0.0, 1.0, total)
    tl.store(o + row * DIM + elements, joined.to(o.dtype.element_ty))


def run(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Each query's mean of its sequence's values, (batch, heads, dim); ``reference.py`` has the shapes.

    A sequence whose table names a page that is not in the pool has NaN, one of no keys 0. Raises Refusal for
    float32 and heads of other than 64 or 128 elements.
    """
    key = "paged_decode/triton_split"
    require_16_bits(key, q)
    require_pool(key, q, k, (64, 128))
    o = torch.empty_like(q)
    if not q.numel():
        return o
    (batch, heads, dim), (pool, page, kv_heads, _), pages = q.shape, k.shape, table.shape[1]
    group = heads // kv_heads
    rows = min(max(triton.next_power_of_2(group), LEAST_HEADS), MOST_HEADS)
    programs = batch * kv_heads * triton.cdiv(group, rows)
    splits = split_count(programs, triton.cdiv(pages * page, KEYS), _slots(q.device))
    parts = o.new_empty(batch * heads * splits * (dim + 1) if splits > 1 else 1, dtype=torch.float32)
    logarithms = parts[batch * heads * splits * dim :] if splits > 1 else parts
    _decode[(programs * splits,)](
        q, k, v, table, lengths, o, parts, logarithms, batch, pool, pages, splits,
        kv_heads, page, group, rows, dim, KEYS, splits > 1, _stages(q.device), num_warps=NUM_WARPS,
    )  # fmt: skip
    if splits > 1:
        _join[(batch * heads,)](
            parts, logarithms, lengths, o, heads, pages * page, splits, dim, KEYS,
            triton.next_power_of_2(min(splits, MOST_SPLITS)), num_warps=4,
        )  # fmt: skip
    return o


def _stages(device: torch.device) -> int:
    return FEW_STAGES if device.type == "cuda" and shared_memory_limit(device) <= ENOUGH_BYTES else STAGES


def _slots(device: torch.device) -> int:
    """Programs that run at once; a few in Triton's interpreter on a CPU, so as to split there too."""
    if device.type != "cuda":
        return 16
    return torch.cuda.get_device_properties(device).multi_processor_count * PROGRAMS_AT_ONCE
