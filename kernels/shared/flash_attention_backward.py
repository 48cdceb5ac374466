"""Gradients of attention in Triton: triton_flash.py of both backward kernels.

Formula: p = exp(q k^T / sqrt(dim) - lse), delta = rows of do o, ds = p (do v^T - delta) / sqrt(dim);
dq = ds k, dk = ds^T q, dv = p^T do. 10 seq seq dim FLOP a head by the spec's count, half of it where causal.
This version does 14: each of its two kernels makes p and do v^T for itself.
Mapping: one kernel whose programs own a block of queries and walk along the keys, for dq, and one whose
programs own a block of keys and walk along the queries, for dk and dv. So no sum crosses programs, and
results are the same every time. A small kernel before them makes delta.
Idea: Dao, "FlashAttention-2", arXiv:2307.08691; split in two as in Triton's tutorial on fused attention.
"""

import math

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.heads import (
    empty_like,
    require_32_bit_offsets,
    require_dim,
    require_like,
)

_LOG2_E = tl.constexpr(math.log2(math.e))
ROWS = 64  # of a program of _delta
# Rows of a program's own block, of those it walks along, and stages: the fastest by dim on an H200. Blocks of
# 64 let two or more programs share a multiprocessor, and one multiplies while another takes powers.
FOR_KEYS = {64: (64, 32, 3), 128: (64, 64, 2)}
FOR_QUERIES = {64: (64, 64, 2), 128: (64, 64, 2)}
WARPS = 4


@triton.jit
def _delta(o, do, delta, rows, DIM: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = row[:, None] * DIM + tl.arange(0, DIM)[None, :]
    inside = row[:, None] < rows
    output = tl.load(o + at, mask=inside, other=0.0).to(tl.float32)
    upstream = tl.load(do + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta + row, tl.sum(output * upstream, axis=1), mask=row < rows)


@triton.jit
def _load(tensor, rows, seq, DIM: tl.constexpr, MASKED: tl.constexpr):
    at = rows[:, None] * DIM + tl.arange(0, DIM)[None, :]
    if MASKED:
        return tl.load(tensor + at, mask=rows[:, None] < seq, other=0.0)
    return tl.load(tensor + at)


@triton.jit
def _along_keys(
    dq, q, do, lse, delta, k, v, queries, first, last, seq, scale,
    DIM: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Adds ds k of the keys from ``first`` to ``last``, without the factor 1 / sqrt(dim)."""
    for start in range(first, last, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        k_block = _load(k, keys, seq, DIM, MASKED)
        v_block = _load(v, keys, seq, DIM, MASKED)
        scores = tl.dot(q, tl.trans(k_block), input_precision="ieee")
        p = tl.exp2(scores * scale - lse[:, None])
        if MASKED:
            mask = keys[None, :] < seq
            if CAUSAL:
                mask = mask & (keys[None, :] <= queries[:, None])
            p = tl.where(mask, p, 0.0)
        dp = tl.dot(do, tl.trans(v_block), input_precision="ieee")
        ds = (p * (dp - delta[:, None])).to(k_block.dtype)
        dq = tl.dot(ds, k_block, dq, input_precision="ieee")
    return dq


@triton.jit
def _queries(
    q, k, v, lse, do, delta, dq, seq, scale, root,
    DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(seq, BLOCK_Q)
    block = blocks - 1 - tl.program_id(0) % blocks  # those with most keys first
    head = (tl.program_id(0) // blocks).to(tl.int64)
    offset = head * seq * DIM
    queries = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    inside = queries < seq
    q_block = _load(q + offset, queries, seq, DIM, True)
    do_block = _load(do + offset, queries, seq, DIM, True)
    lse_block = tl.load(lse + head * seq + queries, mask=inside, other=0.0) * _LOG2_E
    delta_block = tl.load(delta + head * seq + queries, mask=inside, other=0.0)

    # All of these queries see the keys before `whole`, in whole blocks; none sees a key from `end` on.
    if CAUSAL:
        whole, end = block * BLOCK_Q, tl.minimum((block + 1) * BLOCK_Q, seq)
    else:
        whole, end = seq // BLOCK_K * BLOCK_K, seq
    k += offset
    v += offset
    sums = tl.zeros((BLOCK_Q, DIM), dtype=tl.float32)
    sums = _along_keys(
        sums, q_block, do_block, lse_block, delta_block, k, v, queries, 0, whole, seq, scale,
        DIM, BLOCK_K, CAUSAL, False,
    )  # fmt: skip
    if CAUSAL or not WHOLE:
        sums = _along_keys(
            sums, q_block, do_block, lse_block, delta_block, k, v, queries, whole, end, seq, scale,
            DIM, BLOCK_K, CAUSAL, True,
        )  # fmt: skip
    at = queries[:, None] * DIM + tl.arange(0, DIM)[None, :]
    tl.store(dq + offset + at, (sums * root).to(dq.dtype.element_ty), mask=inside[:, None])


@triton.jit
def _along_queries(
    dk, dv, k, v, q, do, lse, delta, keys, first, last, seq, scale,
    DIM: tl.constexpr, BLOCK_Q: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Adds ds^T q and p^T do of the queries from ``first`` to ``last``. Keys go down, queries go across."""
    for start in range(first, last, BLOCK_Q):
        queries = start + tl.arange(0, BLOCK_Q)
        q_block = _load(q, queries, seq, DIM, MASKED)
        do_block = _load(do, queries, seq, DIM, MASKED)
        if MASKED:
            # Queries beyond the end get an infinite sum of exponentials, hence weights of 0.
            lse_block = tl.load(lse + queries, mask=queries < seq, other=float("inf"))
            delta_block = tl.load(delta + queries, mask=queries < seq, other=0.0)
        else:
            lse_block = tl.load(lse + queries)
            delta_block = tl.load(delta + queries)
        scores = tl.dot(k, tl.trans(q_block), input_precision="ieee")
        p = tl.exp2(scores * scale - (lse_block * _LOG2_E)[None, :])
        if CAUSAL and MASKED:
            p = tl.where(keys[:, None] <= queries[None, :], p, 0.0)
        dv = tl.dot(p.to(do_block.dtype), do_block, dv, input_precision="ieee")
        dp = tl.dot(v, tl.trans(do_block), input_precision="ieee")
        ds = (p * (dp - delta_block[None, :])).to(q_block.dtype)
        dk = tl.dot(ds, q_block, dk, input_precision="ieee")
    return dk, dv


@triton.jit
def _keys(
    q, k, v, lse, do, delta, dk, dv, seq, scale, root,
    DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(seq, BLOCK_K)
    block = tl.program_id(0) % blocks  # those with most queries first
    head = (tl.program_id(0) // blocks).to(tl.int64)
    offset = head * seq * DIM
    keys = block * BLOCK_K + tl.arange(0, BLOCK_K)
    k_block = _load(k + offset, keys, seq, DIM, True)
    v_block = _load(v + offset, keys, seq, DIM, True)
    q += offset
    do += offset
    lse += head * seq
    delta += head * seq

    # Queries on the diagonal, then those that see all of these keys, in whole blocks, then the tail.
    first, whole = 0, seq // BLOCK_Q * BLOCK_Q
    dk_sums = tl.zeros((BLOCK_K, DIM), dtype=tl.float32)
    dv_sums = tl.zeros((BLOCK_K, DIM), dtype=tl.float32)
    if CAUSAL:
        first = tl.minimum((block + 1) * BLOCK_K, tl.cdiv(seq, BLOCK_Q) * BLOCK_Q)
        dk_sums, dv_sums = _along_queries(
            dk_sums, dv_sums, k_block, v_block, q, do, lse, delta, keys, block * BLOCK_K, first, seq, scale,
            DIM, BLOCK_Q, CAUSAL, True,
        )  # fmt: skip
    dk_sums, dv_sums = _along_queries(
        dk_sums, dv_sums, k_block, v_block, q, do, lse, delta, keys, first, whole, seq, scale,
        DIM, BLOCK_Q, CAUSAL, False,
    )  # fmt: skip
    if not WHOLE:
        dk_sums, dv_sums = _along_queries(
            dk_sums, dv_sums, k_block, v_block, q, do, lse, delta, keys, tl.maximum(first, whole), seq, seq,
            scale, DIM, BLOCK_Q, False, True,
        )  # fmt: skip
    at = keys[:, None] * DIM + tl.arange(0, DIM)[None, :]
    inside = keys[:, None] < seq
    tl.store(dk + offset + at, (dk_sums * root).to(dk.dtype.element_ty), mask=inside)
    tl.store(dv + offset + at, dv_sums.to(dv.dtype.element_ty), mask=inside)


def gradients(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    *,
    causal: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dq, dk and dv; ``lse`` in float32 and base e. Refuses what ``attend`` of flash_attention.py refuses."""
    batch, heads, seq, dim = q.shape
    require_dim("Attention in Triton", dim)
    require_like("Attention in Triton", q, k=k, v=v, o=o, do=do)
    require_32_bit_offsets("Attention in Triton", seq, dim)
    dq, dk, dv = empty_like(q), empty_like(k), empty_like(v)
    if not q.numel():
        return dq, dk, dv
    q, k, v, o, lse, do = (x.contiguous() for x in (q, k, v, o, lse, do))
    root = dim**-0.5
    scale = root * math.log2(math.e)
    delta = torch.empty_like(lse)
    _delta[(triton.cdiv(lse.numel(), ROWS),)](o, do, delta, lse.numel(), DIM=dim, ROWS=ROWS, num_warps=4)

    given = (q, k, v, lse, do, delta)
    heads *= batch
    own, other, stages = FOR_KEYS[dim]
    _keys[(heads * triton.cdiv(seq, own),)](
        *given, dk, dv, seq, scale, root, DIM=dim, BLOCK_Q=other, BLOCK_K=own, CAUSAL=causal,
        WHOLE=seq % other == 0, num_warps=WARPS, num_stages=stages,
    )  # fmt: skip
    own, other, stages = FOR_QUERIES[dim]
    _queries[(heads * triton.cdiv(seq, own),)](
        *given, dq, seq, scale, root, DIM=dim, BLOCK_Q=own, BLOCK_K=other, CAUSAL=causal,
        WHOLE=seq % other == 0, num_warps=WARPS, num_stages=stages,
    )  # fmt: skip
    return dq, dk, dv
