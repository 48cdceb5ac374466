"""Attention in Triton, its seq x seq weights never in memory: triton_flash.py of both forward kernels.

Formula: o = sum over j of 2^(s_j - m) v_j / sum over j of 2^(s_j - m), s_j = q k_j log2(e) / sqrt(dim), m
their maximum. Keys are taken block by block; whenever a block raises the maximum from m to m', the sums so
far are scaled by 2^(m - m'). 4 seq seq dim FLOP a head, half of it where causal; q, k and v are read and o is
written once, k and v again from L2 for every block of queries.
Mapping: a program owns a block of queries of one head. Two loops over the keys: blocks that every query of
the program sees whole, then those that need a mask, the diagonal or the tail. Programs with most keys start
first.
Idea: Dao, "FlashAttention-2", arXiv:2307.08691, and Milakov and Gimelshein, arXiv:1805.02867.
"""

import math

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.heads import DIMS, require_32_bit_offsets, require_like, results_of
from roofscope.kernels.shared.split_attention import attend_in_parts
from roofscope.kernels.shared.tuning import shared_memory_limit

LOG2_E = math.log2(math.e)
_LN_2 = tl.constexpr(math.log(2))
_MINUS_INFINITY = tl.constexpr(-float("inf"))


@triton.jit
def _accumulate(
    acc,
    row_sum,
    row_max,
    q_block,
    k,
    v,
    queries,
    first,
    last,
    seq,
    scale,
    DIM: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Takes in the keys from ``first`` to ``last``; returns accumulator, row sum and row maximum."""
    elements = tl.arange(0, DIM)
    for start in range(first, last, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        at = keys[:, None] * DIM + elements[None, :]
        if MASKED:
            k_block = tl.load(k + at, mask=keys[:, None] < seq, other=0.0)
            v_block = tl.load(v + at, mask=keys[:, None] < seq, other=0.0)
        else:
            k_block = tl.load(k + at)
            v_block = tl.load(v + at)
        scores = tl.dot(q_block, tl.trans(k_block), input_precision="ieee")
        if MASKED:
            mask = keys[None, :] < seq
            if CAUSAL:
                mask = mask & (keys[None, :] <= queries[:, None])
            scores = tl.where(mask, scores, _MINUS_INFINITY)
        new_max = tl.maximum(row_max, tl.max(scores, axis=1) * scale)
        # If a query has seen no finite score yet, its weights are 0, not NaN.
        shift = tl.where(new_max == _MINUS_INFINITY, 0.0, new_max)
        powers = tl.exp2(scores * scale - shift[:, None])
        rescale = tl.exp2(row_max - shift)
        row_sum = row_sum * rescale + tl.sum(powers, axis=1)
        acc = tl.dot(powers.to(v_block.dtype), v_block, acc * rescale[:, None], input_precision="ieee")
        row_max = new_max
    return acc, row_sum, row_max


@triton.jit
def _attend(
    q,
    k,
    v,
    o,
    lse,
    seq,
    scale,
    DIM: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr,
    WHOLE: tl.constexpr,
    SHARING: tl.constexpr = 1,
):
    blocks = tl.cdiv(seq, BLOCK_Q)
    block = blocks - 1 - tl.program_id(0) % blocks
    head = (tl.program_id(0) // blocks).to(tl.int64)
    offset = head * seq * DIM
    queries = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    inside = queries < seq
    at = queries[:, None] * DIM + tl.arange(0, DIM)[None, :]
    q_block = tl.load(q + offset + at, mask=inside[:, None], other=0.0)

    acc = tl.zeros((BLOCK_Q, DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    row_max = tl.full((BLOCK_Q,), _MINUS_INFINITY, dtype=tl.float32)
    # All of these queries see the keys before `whole`, in whole blocks; none sees a key from `end` on.
    if CAUSAL:
        whole, end = block * BLOCK_Q, tl.minimum((block + 1) * BLOCK_Q, seq)
    else:
        whole, end = seq // BLOCK_K * BLOCK_K, seq
    k += head // SHARING * seq * DIM
    v += head // SHARING * seq * DIM
    acc, row_sum, row_max = _accumulate(
        acc, row_sum, row_max, q_block, k, v, queries, 0, whole, seq, scale, DIM, BLOCK_K, CAUSAL, False
    )
    if CAUSAL or not WHOLE:
        acc, row_sum, row_max = _accumulate(
            acc, row_sum, row_max, q_block, k, v, queries, whole, end, seq, scale, DIM, BLOCK_K, CAUSAL, True
        )

    acc /= tl.where(row_sum == 0.0, 1.0, row_sum)[:, None]
    tl.store(o + offset + at, acc.to(o.dtype.element_ty), mask=inside[:, None])
    tl.store(lse + head * seq + queries, (row_max + tl.log2(row_sum)) * _LN_2, mask=inside)


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool, sharing: int = 1
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    ``sharing`` query heads have one head of keys and values. Raises Refusal for inputs that are not alike,
    heads of other than 64, 96, 128, 192 or 256 elements, and more than 2^24 rows of 128.
    """
    batch, heads, seq, dim = q.shape
    if dim not in DIMS:
        return attend_in_parts(q, k, v, causal=causal, sharing=sharing)
    require_like("Attention in Triton", q if sharing == 1 else k, k=k, v=v)
    require_32_bit_offsets("Attention in Triton", seq, dim)
    o, lse = results_of(q)
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    if q.numel():
        block_q, block_k, options = configuration(q)
        _attend[(batch * heads * triton.cdiv(seq, block_q),)](
            q,
            k,
            v,
            o,
            lse,
            seq,
            LOG2_E / dim**0.5,
            DIM=dim,
            BLOCK_Q=block_q,
            BLOCK_K=block_k,
            CAUSAL=causal,
            WHOLE=seq % block_k == 0,
            SHARING=sharing,
            **options,
        )
    return o, lse


def configuration(q: torch.Tensor) -> tuple[int, int, dict[str, int]]:
    """Queries and keys of a block, and Triton's options."""
    if q.shape[3] == 64:
        return 64, 64, {"num_warps": 4, "num_stages": 3}  # 64 KiB: three blocks share a multiprocessor
    if not q.is_cuda or shared_memory_limit(q.device) > 128 * 1024:
        return 128, 64, {"num_warps": 8, "num_stages": 3}
    return 128, 64, {"num_warps": 8, "num_stages": 2}  # 96 KiB
