"""Attention in Triton with a window, and of heads of 96, 192 or 256 elements: what flash_attention.py lacks.

Formula: that of flash_attention.py, where a query may see no more than the last `window` keys up to its own.
Mapping: that of flash_attention.py, too. Triton's blocks are powers of two: of 96 or 192 elements the first
64 or 128 are one block and the rest is another, so that a step has two products q k^T, added up, and two p v.
With a window the loop has three parts: blocks of keys that have left the window of some query, blocks that
every query sees whole, and the diagonal. What lies outside the window of all queries is skipped.
Idea: as flash_attention.py.
"""

import math

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.heads import (
    MORE_DIMS,
    require_32_bit_offsets,
    require_dim,
    require_like,
    results_of,
)
from roofscope.kernels.shared.tuning import shared_memory_limit

_NAME = "Attention in Triton"
_LOG2_E = math.log2(math.e)
_LN_2 = tl.constexpr(math.log(2))
_MINUS_INFINITY = tl.constexpr(-float("inf"))
_LARGE_SHARED_BYTES = 200 * 1024  # Hopper's and Blackwell's


@triton.jit
def _load(x, rows, seq, DIM: tl.constexpr, FIRST: tl.constexpr, COUNT: tl.constexpr, MASKED: tl.constexpr):
    """COUNT elements of each row from FIRST on; zeros for rows beyond the end."""
    at = rows[:, None] * DIM + FIRST + tl.arange(0, COUNT)[None, :]
    if MASKED:
        return tl.load(x + at, mask=rows[:, None] < seq, other=0.0)
    return tl.load(x + at)


@triton.jit
def _accumulate(
    acc,
    acc_rest,
    row_sum,
    row_max,
    q_part,
    q_rest,
    k,
    v,
    queries,
    first,
    last,
    seq,
    window,
    scale,
    DIM: tl.constexpr,
    PART: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Takes in the keys from ``first`` to ``last``; returns both accumulators, row sum and row maximum."""
    for start in range(first, last, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        k_part = _load(k, keys, seq, DIM, 0, PART, MASKED)
        scores = tl.dot(q_part, tl.trans(k_part), input_precision="ieee")
        if PART < DIM:
            k_rest = _load(k, keys, seq, DIM, PART, DIM - PART, MASKED)
            scores = tl.dot(q_rest, tl.trans(k_rest), scores, input_precision="ieee")
        if MASKED:
            mask = keys[None, :] < seq
            if CAUSAL:
                mask = mask & (keys[None, :] <= queries[:, None])
            if WINDOWED:
                mask = mask & (keys[None, :] > queries[:, None] - window)
            scores = tl.where(mask, scores, _MINUS_INFINITY)
        new_max = tl.maximum(row_max, tl.max(scores, axis=1) * scale)
        # If a query has seen no finite score yet, its weights are 0, not NaN.
        shift = tl.where(new_max == _MINUS_INFINITY, 0.0, new_max)
        powers = tl.exp2(scores * scale - shift[:, None])
        rescale = tl.exp2(row_max - shift)
        row_sum = row_sum * rescale + tl.sum(powers, axis=1)
        v_part = _load(v, keys, seq, DIM, 0, PART, MASKED)
        weights = powers.to(v_part.dtype)
        acc = tl.dot(weights, v_part, acc * rescale[:, None], input_precision="ieee")
        if PART < DIM:
            v_rest = _load(v, keys, seq, DIM, PART, DIM - PART, MASKED)
            acc_rest = tl.dot(weights, v_rest, acc_rest * rescale[:, None], input_precision="ieee")
        row_max = new_max
    return acc, acc_rest, row_sum, row_max


@triton.jit
def _attend(
    q,
    k,
    v,
    o,
    lse,
    seq,
    window,
    scale,
    DIM: tl.constexpr,
    PART: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
    SKIPS: tl.constexpr,
    WHOLE: tl.constexpr,
    SHARING: tl.constexpr,
):
    blocks = tl.cdiv(seq, BLOCK_Q)
    first = (blocks - 1 - tl.program_id(0) % blocks) * BLOCK_Q
    head = (tl.program_id(0) // blocks).to(tl.int64)
    q += head * seq * DIM
    o += head * seq * DIM
    k += head // SHARING * seq * DIM
    v += head // SHARING * seq * DIM
    queries = first + tl.arange(0, BLOCK_Q)
    q_part = _load(q, queries, seq, DIM, 0, PART, True)
    acc = tl.zeros((BLOCK_Q, PART), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    row_max = tl.full((BLOCK_Q,), _MINUS_INFINITY, dtype=tl.float32)
    q_rest = q_part  # where there is no rest, neither of the two is used
    acc_rest = acc
    if PART < DIM:
        q_rest = _load(q, queries, seq, DIM, PART, DIM - PART, True)
        acc_rest = tl.zeros((BLOCK_Q, DIM - PART), dtype=tl.float32)

    # All of these queries see the keys from `whole` to `rest`, in whole blocks; none sees one from `end` on.
    whole = 0
    if CAUSAL:
        rest, end = first, tl.minimum(first + BLOCK_Q, seq)
    else:
        rest, end = seq // BLOCK_K * BLOCK_K, seq
    if WINDOWED:
        start = 0
        whole = rest
        if SKIPS:
            start = tl.maximum(first - window + 1, 0) // BLOCK_K * BLOCK_K
            whole = tl.minimum(tl.cdiv(tl.maximum(first + BLOCK_Q - window, 0), BLOCK_K) * BLOCK_K, rest)
        acc, acc_rest, row_sum, row_max = _accumulate(
            acc,
            acc_rest,
            row_sum,
            row_max,
            q_part,
            q_rest,
            k,
            v,
            queries,
            start,
            whole,
            seq,
            window,
            scale,
            DIM,
            PART,
            BLOCK_K,
            CAUSAL,
            True,
            True,
        )
    acc, acc_rest, row_sum, row_max = _accumulate(
        acc,
        acc_rest,
        row_sum,
        row_max,
        q_part,
        q_rest,
        k,
        v,
        queries,
        whole,
        rest,
        seq,
        window,
        scale,
        DIM,
        PART,
        BLOCK_K,
        CAUSAL,
        WINDOWED,
        False,
    )
    if CAUSAL or not WHOLE:
        acc, acc_rest, row_sum, row_max = _accumulate(
            acc,
            acc_rest,
            row_sum,
            row_max,
            q_part,
            q_rest,
            k,
            v,
            queries,
            rest,
            end,
            seq,
            window,
            scale,
            DIM,
            PART,
            BLOCK_K,
            CAUSAL,
            WINDOWED,
            True,
        )

    inside = queries < seq
    divisor = tl.where(row_sum == 0.0, 1.0, row_sum)[:, None]
    at = queries[:, None] * DIM + tl.arange(0, PART)[None, :]
    tl.store(o + at, (acc / divisor).to(o.dtype.element_ty), mask=inside[:, None])
    if PART < DIM:
        at = queries[:, None] * DIM + PART + tl.arange(0, DIM - PART)[None, :]
        tl.store(o + at, (acc_rest / divisor).to(o.dtype.element_ty), mask=inside[:, None])
    tl.store(lse + head * seq + queries, (row_max + tl.log2(row_sum)) * _LN_2, mask=inside)


def attend_in_parts(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool,
    sharing: int = 1,
    window: int | None = None,
    skips: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    ``sharing`` query heads have one head of keys and values. With a ``window``, which is causal, a query sees
    as many keys, its own the last; what no query of a block sees is masked nevertheless unless it ``skips``.
    Raises Refusal for inputs that are not alike, heads of other than 64, 96, 128, 192 or 256 elements, and
    more elements of a head than 32 bits count.
    """
    batch, heads, seq, dim = q.shape
    require_dim(_NAME, dim, MORE_DIMS)
    require_like(_NAME, q if sharing == 1 else k, k=k, v=v)
    require_32_bit_offsets(_NAME, seq, dim)
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
            seq if window is None else min(window, seq),
            _LOG2_E / dim**0.5,
            DIM=dim,
            PART=1 << dim.bit_length() - 1,
            BLOCK_Q=block_q,
            BLOCK_K=block_k,
            CAUSAL=causal,
            WINDOWED=window is not None,
            SKIPS=skips,
            WHOLE=seq % block_k == 0,
            SHARING=sharing,
            **options,
        )
    return o, lse


def configuration(q: torch.Tensor) -> tuple[int, int, dict[str, int]]:
    """Queries and keys of a block, and Triton's options."""
    dim = q.shape[3]
    if dim == 64:
        return 64, 64, {"num_warps": 4, "num_stages": 3}
    if not q.is_cuda or shared_memory_limit(q.device) > _LARGE_SHARED_BYTES:
        return 128, 64, {"num_warps": 8, "num_stages": 3 if dim <= 128 else 2}
    if dim <= 128:
        return 128, 64, {"num_warps": 8, "num_stages": 2}
    return 64, 32, {"num_warps": 8, "num_stages": 2}
