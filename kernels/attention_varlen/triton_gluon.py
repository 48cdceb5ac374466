"""Causal attention over packed sequences in Gluon, Triton's lower dialect.

Formula: that of blocks.py, with its FLOP and bytes.
Mapping: a block of the grid is 128 queries of a head, found as triton_longest_first.py finds it; what it does
with them is shared/gluon_attention.py. The descriptors by which the copy engine reads are made on the GPU and
end where the sequence does, so that rows of the next one come as zeros.
Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608. Goes on from triton_longest_first, where no product
runs while powers are taken. Hopper only.
"""

import torch
import triton

from roofscope import Refusal, needs_hopper
from roofscope.kernels.attention_varlen.blocks import require_packed, scale_of
from roofscope.kernels.shared.gluon_attention import (
    BLOCK_K,
    BLOCK_Q,
    STAGES,
    _copy,
    _powers,
    gl,
    gluon,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from roofscope.kernels.shared.heads import aligned, require_16_bits

_MOST_SEQUENCES = 4096  # summed up at once
DOMAIN = "(dim == 64 or dim == 128) and (128*shortest + 128)*kv_heads*group*dim < 2**31 and batch <= 4096"
_GROUP = gl.constexpr(64)  # queries of four warps
_MINUS_INFINITY = gl.constexpr(-float("inf"))

Tensor = torch.Tensor


@gluon.jit
def _multiply(
    GROUP: gl.constexpr,
    ring,
    work,
    o,
    scale,
    DIM: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
):
    """The work of four warps: attention of 64 queries."""
    q_blocks, k_blocks, v_blocks, q_full, k_full, v_full, k_empty, v_empty = ring
    begin, length, first, end, head, heads, _ = work
    OF_SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_K, 16])
    OF_ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, DIM, 16])
    OF_WEIGHTS: gl.constexpr = gl.DotOperandLayout(0, OF_ACC, 2)
    DTYPE: gl.constexpr = o.dtype.element_ty
    q_block = q_blocks.index(GROUP)
    start = first + GROUP * _GROUP
    queries = start + gl.arange(0, _GROUP, gl.SliceLayout(1, OF_SCORES))
    steps = gl.cdiv(end, BLOCK_K)
    row_max = gl.full([_GROUP], _MINUS_INFINITY, gl.float32, gl.SliceLayout(1, OF_SCORES))
    row_sum = gl.full([_GROUP], 0.0, gl.float32, gl.SliceLayout(1, OF_SCORES))
    acc = gl.full([_GROUP, DIM], 0.0, gl.float32, OF_ACC)
    none = gl.full([_GROUP, BLOCK_K], 0.0, gl.float32, OF_SCORES)

    # The last keys, the only ones that need a mask. Those beyond the end are later than any stored query.
    mbarrier.wait(q_full, 0)
    mbarrier.wait(k_full.index(0), 0)
    scores = warpgroup_mma(q_block, k_blocks.index(0).permute((1, 0)), none, use_acc=False, is_async=True)
    scores = warpgroup_mma_wait(0, deps=[scores])
    mbarrier.arrive(k_empty.index(0))
    keys = (steps - 1) * BLOCK_K + gl.arange(0, BLOCK_K, gl.SliceLayout(0, OF_SCORES))
    scores = gl.where(keys[None, :] <= queries[:, None], scores, _MINUS_INFINITY)
    powers, rescale, row_sum, row_max = _powers(scores, row_sum, row_max, scale)
    weights = gl.convert_layout(powers.to(DTYPE), OF_WEIGHTS)
    mbarrier.wait(k_full.index(1 % STAGES), 1 // STAGES, pred=steps > 1)

    for step in range(1, steps):
        stage = step % STAGES
        before = (step - 1) % STAGES
        keys_t = k_blocks.index(stage).permute((1, 0))
        scores = warpgroup_mma(q_block, keys_t, none, use_acc=False, is_async=True)
        mbarrier.wait(v_full.index(before), ((step - 1) // STAGES) & 1)
        future = warpgroup_mma(weights, v_blocks.index(before), acc, is_async=True)
        scores = warpgroup_mma_wait(1, deps=[scores])
        mbarrier.arrive(k_empty.index(stage))
        powers, rescale, row_sum, row_max = _powers(scores, row_sum, row_max, scale)
        # As in shared/gluon_attention.py, whose comment says why.
        after = step + 1
        mbarrier.wait(k_full.index(after % STAGES), (after // STAGES) & 1, pred=after < steps)
        acc, weights, powers, row_sum = warpgroup_mma_wait(0, deps=[future, weights, powers, row_sum])
        mbarrier.arrive(v_empty.index(before))
        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, OF_ACC))[:, None]
        weights = gl.convert_layout(powers.to(DTYPE), OF_WEIGHTS)

    last = steps - 1
    mbarrier.wait(v_full.index(last % STAGES), (last // STAGES) & 1)
    future = warpgroup_mma(weights, v_blocks.index(last % STAGES), acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[future])

    divisor = gl.where(row_sum == 0.0, 1.0, row_sum)
    acc /= gl.convert_layout(divisor, gl.SliceLayout(1, OF_ACC))[:, None]
    rows = start + gl.arange(0, _GROUP, gl.SliceLayout(1, OF_ACC))
    at = rows[:, None] * (heads * DIM) + gl.arange(0, DIM, gl.SliceLayout(0, OF_ACC))[None, :]
    to = o + (begin.to(gl.int64) * heads + head) * DIM + at
    gl.store(to, acc.to(DTYPE), mask=(rows < length)[:, None])


@gluon.jit
def _load(q, k, v, ring, work, DIM: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr):
    """The work of the warp that copies."""
    q_blocks, k_blocks, v_blocks, q_full, k_full, v_full, k_empty, v_empty = ring
    begin, length, first, end, head, heads, kv_heads = work
    BYTES: gl.constexpr = BLOCK_K * DIM * 2
    LAYOUT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, DIM], q.dtype.element_ty)
    kv_head = head // (heads // kv_heads)
    q += (begin.to(gl.int64) * heads + head) * DIM
    offset = (begin.to(gl.int64) * kv_heads + kv_head) * DIM
    q_rows = tma.make_tensor_descriptor(q, [length, DIM], [heads * DIM, 1], [_GROUP, DIM], LAYOUT)
    k_rows = tma.make_tensor_descriptor(
        k + offset, [length, DIM], [kv_heads * DIM, 1], [BLOCK_K, DIM], LAYOUT
    )
    v_rows = tma.make_tensor_descriptor(
        v + offset, [length, DIM], [kv_heads * DIM, 1], [BLOCK_K, DIM], LAYOUT
    )
    mbarrier.expect(q_full, 2 * _GROUP * DIM * 2)
    _copy(q_rows, [first, 0], q_full, q_blocks.index(0))
    _copy(q_rows, [first + _GROUP, 0], q_full, q_blocks.index(1))
    steps = gl.cdiv(end, BLOCK_K)
    for step in range(steps):
        stage = step % STAGES
        phase = ((step // STAGES) & 1) ^ 1  # the first round passes at once
        start = (steps - 1 - step) * BLOCK_K
        mbarrier.wait(k_empty.index(stage), phase)
        mbarrier.expect(k_full.index(stage), BYTES)
        _copy(k_rows, [start, 0], k_full.index(stage), k_blocks.index(stage))
        mbarrier.wait(v_empty.index(stage), phase)
        mbarrier.expect(v_full.index(stage), BYTES)
        _copy(v_rows, [start, 0], v_full.index(stage), v_blocks.index(stage))


@gluon.jit
def _attend(
    q,
    k,
    v,
    o,
    offsets,
    batch,
    most,
    heads,
    kv_heads,
    scale,
    halvings,
    searches,
    BATCH: gl.constexpr,
    DIM: gl.constexpr,
    BLOCK_Q: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
):
    OF_NUMBERS: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    head, rank = gl.program_id(0) // most, gl.program_id(0) % most
    number = gl.arange(0, BATCH, OF_NUMBERS)
    begins = gl.load(offsets + number, mask=number < batch, other=0)
    lengths = gl.load(offsets + number + 1, mask=number < batch, other=0) - begins
    blocks = gl.cdiv(gl.maximum(lengths, 0), BLOCK_Q)
    if rank >= gl.sum(blocks, axis=0):
        return
    # The least block number that no more than `rank` blocks exceed.
    low, block = 0, gl.max(blocks, axis=0) - 1
    for _ in range(halvings):
        middle = (low + block) // 2
        above = gl.sum(gl.maximum(blocks - 1 - middle, 0), axis=0)
        enough = above <= rank
        block = gl.where(enough, middle, block)
        low = gl.where(enough, low, gl.minimum(middle + 1, block))
    place = rank - gl.sum(gl.maximum(blocks - 1 - block, 0), axis=0)
    # Of the sequences with such a block the one that has `place` of them before it.
    has_one = (blocks > block).to(gl.int32)
    below, sequence = 0, batch - 1
    for _ in range(searches):
        middle = (below + sequence) // 2
        enough = gl.sum(gl.where(number <= middle, has_one, 0), axis=0) > place
        sequence = gl.where(enough, middle, sequence)
        below = gl.where(enough, below, gl.minimum(middle + 1, sequence))
    begin = gl.load(offsets + sequence)
    length = gl.load(offsets + sequence + 1) - begin

    DTYPE: gl.constexpr = o.dtype.element_ty
    LAYOUT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, DIM], DTYPE)
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    q_blocks = gl.allocate_shared_memory(DTYPE, [2, _GROUP, DIM], LAYOUT)
    k_blocks = gl.allocate_shared_memory(DTYPE, [STAGES, BLOCK_K, DIM], LAYOUT)
    v_blocks = gl.allocate_shared_memory(DTYPE, [STAGES, BLOCK_K, DIM], LAYOUT)
    q_full = gl.allocate_shared_memory(gl.int64, [1], BARRIER)
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    k_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    v_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    mbarrier.init(q_full, 1)
    for stage in gl.static_range(STAGES):
        mbarrier.init(k_full.index(stage), 1)
        mbarrier.init(v_full.index(stage), 1)
        mbarrier.init(k_empty.index(stage), 2)  # by both groups
        mbarrier.init(v_empty.index(stage), 2)
    ring = (q_blocks, k_blocks, v_blocks, q_full, k_full, v_full, k_empty, v_empty)
    first = block * BLOCK_Q
    end = gl.minimum(first + BLOCK_Q, length)
    work = (begin, length, first, end, head, heads, kv_heads)
    gl.warp_specialize(
        [
            (_multiply, (0, ring, work, o, scale, DIM, BLOCK_K, STAGES)),
            (_multiply, (1, ring, work, o, scale, DIM, BLOCK_K, STAGES)),
            (_load, (q, k, v, ring, work, DIM, BLOCK_K, STAGES)),
        ],
        [4, 1],  # warps of the second and the third
        [240, 24],  # registers of their threads; the first takes what is left
    )


def run(q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values it sees, (tokens, heads, dim); ``reference.py`` has the shapes.

    Rows that are in no sequence are not written. Raises Refusal for float32, for heads of other than 64 or
    128 elements, for more than 4096 sequences, beyond 32-bit counts, and where there is no wgmma.
    """
    key = "attention_varlen/triton_gluon"
    require_16_bits(key, q)
    require_packed(key, q, k, v, bound)
    (tokens, heads, dim), batch = q.shape, len(offsets) - 1
    if batch > _MOST_SEQUENCES:
        raise Refusal(f"{key} takes {_MOST_SEQUENCES} sequences at most, not {batch}.")
    needs_hopper(key, q.device)
    o = torch.empty_like(q, memory_format=torch.contiguous_format)
    if not q.numel():
        return o
    q, k, v = aligned(q, k, v)
    # The device makes the descriptors, in memory from here. The setting holds for this thread only.
    device = q.device
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device))
    most = tokens // BLOCK_Q + min(batch, tokens)
    _attend[(most * heads,)](
        q, k, v, o, offsets, batch, most, heads, k.shape[1], scale_of(dim),
        triton.cdiv(bound.shape[0], BLOCK_Q).bit_length() + 1, batch.bit_length() + 1,
        BATCH=triton.next_power_of_2(batch), DIM=dim, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, STAGES=STAGES,
        num_warps=4,
    )  # fmt: skip
    return o
