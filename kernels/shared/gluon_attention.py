"""Attention in Gluon, Triton's lower dialect: triton_gluon.py of both forward kernels.

Formula: that of flash_attention.py, with its FLOP and bytes.
Mapping: that of a tile of wgmma_attention.cuh. A block owns 128 queries of a head, 64 for each of two groups
of four warps. One more warp has the tensor memory accelerator copy 128 keys and as many values a step into a
ring of two stages. The last keys, which need a mask, come first. A step starts the next q k^T and the present
p v together, and takes the powers of the former while the latter runs.
Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608. Gluon lets us choose layouts, barriers and the roles
of warps, so that the mask can stand before the loop, where triton_warp_specialized cannot have it. Hopper
only.
"""

import math

import torch
import triton

from roofscope import Refusal, needs_hopper
from roofscope.kernels.shared.flash_attention import LOG2_E
from roofscope.kernels.shared.heads import (
    aligned,
    require_16_bits,
    require_32_bit_offsets,
    require_dim,
    require_like,
    results_of,
)

try:
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import (
        mbarrier,
        tma,
        warpgroup_mma,
        warpgroup_mma_wait,
    )
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    _copy = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared  # its name in Triton 3.6
except (ImportError, AttributeError) as error:  # Gluon is experimental: its names still move
    raise Refusal(
        f"Attention in Gluon needs Gluon as of Triton 3.6 to 3.9; that of {triton.__version__} differs."
    ) from error

BLOCK_Q = BLOCK_K = 128
STAGES = 2
_ELEMENTS = {torch.float16: gl.float16, torch.bfloat16: gl.bfloat16}
_GROUP = gl.constexpr(64)  # queries of four warps
_LN_2 = gl.constexpr(math.log(2))
_MINUS_INFINITY = gl.constexpr(-float("inf"))


@gluon.jit
def _powers(scores, row_sum, row_max, scale):
    """Powers of a block's scores, the factor that rescales older sums, the new row sum and row maximum."""
    new_max = gl.maximum(row_max, gl.max(scores, axis=1) * scale)
    # If a query has seen no finite score yet, its weights are 0, not NaN.
    shift = gl.where(new_max == _MINUS_INFINITY, 0.0, new_max)
    powers = gl.exp2(scores * scale - shift[:, None])
    rescale = gl.exp2(row_max - shift)
    return powers, rescale, row_sum * rescale + gl.sum(powers, axis=1), new_max


@gluon.jit
def _store(o, lse, acc, row_sum, row_max, queries, start, seq, head, DIM: gl.constexpr):
    """Writes the results of ``queries``, which begin at ``start``."""
    OF_ACC: gl.constexpr = acc.type.layout
    divisor = gl.where(row_sum == 0.0, 1.0, row_sum)
    acc /= gl.convert_layout(divisor, gl.SliceLayout(1, OF_ACC))[:, None]
    before = head.to(gl.int64) * seq
    rows = start + gl.arange(0, _GROUP, gl.SliceLayout(1, OF_ACC))
    at = rows[:, None] * DIM + gl.arange(0, DIM, gl.SliceLayout(0, OF_ACC))[None, :]
    gl.store(o + before * DIM + at, acc.to(o.dtype.element_ty), mask=(rows < seq)[:, None])
    gl.store(lse + before + queries, (row_max + gl.log2(row_sum)) * _LN_2, mask=queries < seq)


@gluon.jit
def _multiply(
    GROUP: gl.constexpr,
    ring,
    work,
    o,
    lse,
    scale,
    DIM: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
    CAUSAL: gl.constexpr,
    WHOLE: gl.constexpr,
):
    """The work of four warps: attention of 64 queries."""
    q_blocks, k_blocks, v_blocks, q_full, k_full, v_full, k_empty, v_empty = ring
    seq, first, end, head = work
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

    # The last keys, the only ones that need a mask.
    mbarrier.wait(q_full, 0)
    mbarrier.wait(k_full.index(0), 0)
    scores = warpgroup_mma(q_block, k_blocks.index(0).permute((1, 0)), none, use_acc=False, is_async=True)
    scores = warpgroup_mma_wait(0, deps=[scores])
    mbarrier.arrive(k_empty.index(0))
    keys = (steps - 1) * BLOCK_K + gl.arange(0, BLOCK_K, gl.SliceLayout(0, OF_SCORES))
    if CAUSAL:
        # Keys beyond the end are later than any query that is stored.
        scores = gl.where(keys[None, :] <= queries[:, None], scores, _MINUS_INFINITY)
    elif not WHOLE:
        scores = gl.where(keys[None, :] < seq, scores, _MINUS_INFINITY)
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
        # The powers must be taken while the product with v runs, but the assembler would move them behind the
        # wait for it. So they pass through that wait, and the wait for the next keys, a branch, stands before
        # it.
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
    _store(o, lse, acc, row_sum, row_max, queries, start, seq, head, DIM)


@gluon.jit
def _load(
    q,
    k,
    v,
    ring,
    work,
    DIM: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
    WHOLE: gl.constexpr,
):
    """The work of the warp that copies."""
    q_blocks, k_blocks, v_blocks, q_full, k_full, v_full, k_empty, v_empty = ring
    seq, first, end, head = work
    BYTES: gl.constexpr = BLOCK_K * DIM * 2
    if WHOLE:
        q_rows, k_rows, v_rows = q, k, v
        row = head * seq
    else:
        # The descriptors cover this head alone, so that rows beyond its end are zeros.
        LAYOUT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, DIM], q.dtype.element_ty)
        offset = head.to(gl.int64) * seq * DIM
        q_rows = tma.make_tensor_descriptor(q + offset, [seq, DIM], [DIM, 1], [_GROUP, DIM], LAYOUT)
        k_rows = tma.make_tensor_descriptor(k + offset, [seq, DIM], [DIM, 1], [BLOCK_K, DIM], LAYOUT)
        v_rows = tma.make_tensor_descriptor(v + offset, [seq, DIM], [DIM, 1], [BLOCK_K, DIM], LAYOUT)
        row = 0
    mbarrier.expect(q_full, 2 * _GROUP * DIM * 2)
    _copy(q_rows, [row + first, 0], q_full, q_blocks.index(0))
    _copy(q_rows, [row + first + _GROUP, 0], q_full, q_blocks.index(1))
    steps = gl.cdiv(end, BLOCK_K)
    for step in range(steps):
        stage = step % STAGES
        phase = ((step // STAGES) & 1) ^ 1  # the first round passes at once
        start = row + (steps - 1 - step) * BLOCK_K
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
    lse,
    seq,
    scale,
    DIM: gl.constexpr,
    BLOCK_Q: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
    CAUSAL: gl.constexpr,
    WHOLE: gl.constexpr,
):
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

    # Blocks with most keys start first.
    blocks = gl.cdiv(seq, BLOCK_Q)
    first = (blocks - 1 - gl.program_id(0) % blocks) * BLOCK_Q
    head = gl.program_id(0) // blocks
    end = gl.minimum(first + BLOCK_Q, seq) if CAUSAL else seq
    work = (seq, first, end, head)
    gl.warp_specialize(
        [
            (_multiply, (0, ring, work, o, lse, scale, DIM, BLOCK_K, STAGES, CAUSAL, WHOLE)),
            (_multiply, (1, ring, work, o, lse, scale, DIM, BLOCK_K, STAGES, CAUSAL, WHOLE)),
            (_load, (q, k, v, ring, work, DIM, BLOCK_K, STAGES, WHOLE)),
        ],
        [4, 1],  # warps of the second and the third
        [240, 24],  # registers of their threads; the first takes what is left
    )


def attend(
    key: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    Raises Refusal for float32, for inputs that are not alike, for heads of other than 64 or 128 elements,
    for more than 2^24 rows of 128, and where there is no wgmma.
    """
    batch, heads, seq, dim = q.shape
    require_16_bits(key, q)
    require_dim(key, dim)
    require_like(key, q, k=k, v=v)
    require_32_bit_offsets(key, seq, dim)
    needs_hopper(key, q.device)
    o, lse = results_of(q)
    if not q.numel():
        return o, lse
    q, k, v = aligned(q, k, v)
    whole = seq % BLOCK_K == 0
    if whole:
        # No block reaches into the next head: one descriptor does for all of them, and the host can make it.
        layout = gl.NVMMASharedLayout.get_default_for([BLOCK_K, dim], _ELEMENTS[q.dtype])
        rows = [
            TensorDescriptor.from_tensor(x.view(-1, dim), [count, dim], layout)
            for x, count in ((q, _GROUP.value), (k, BLOCK_K), (v, BLOCK_K))
        ]
    else:
        rows = [q, k, v]
        # The device makes the descriptors, in memory from here. The setting holds for this thread only.
        device = q.device
        triton.set_allocator(
            lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device)
        )
    _attend[(batch * heads * triton.cdiv(seq, BLOCK_Q),)](
        *rows,
        o,
        lse,
        seq,
        LOG2_E / dim**0.5,
        DIM=dim,
        BLOCK_Q=BLOCK_Q,
        BLOCK_K=BLOCK_K,
        STAGES=STAGES,
        CAUSAL=causal,
        WHOLE=whole,
        num_warps=4,
    )
    return o, lse
