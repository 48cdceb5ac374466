"""What the Triton versions do with a block of queries of a packed sequence, once they know which it is.

Formula: o = sum over j of 2^(s_j - m) v_j / sum over j of 2^(s_j - m), s_j = q k_j log2(e) / sqrt(dim), m
their maximum. Keys are taken block by block; whenever a block raises the maximum from m to m', the sums so
far are scaled by 2^(m - m'). 4 dim FLOP a pair; q is read and o written once, k and v again from L2 for every
block of queries.
Mapping: two loops over the keys: blocks that every query sees whole, then the diagonal, whose last block the
sequence's end may cut.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.flash_attention import LOG2_E
from roofscope.kernels.shared.heads import require_dim, require_like
from roofscope.kernels.shared.tuning import shared_memory_limit

_MINUS_INFINITY = tl.constexpr(-float("inf"))
_MOST_OFFSETS = 2**31


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
    length,
    width,
    scale,
    DIM: tl.constexpr,
    BLOCK_K: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Takes in the keys from ``first`` to ``last``; returns accumulator, row sum and row maximum."""
    elements = tl.arange(0, DIM)
    for start in range(first, last, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        at = keys[:, None] * width + elements[None, :]
        if MASKED:
            k_block = tl.load(k + at, mask=keys[:, None] < length, other=0.0)
            v_block = tl.load(v + at, mask=keys[:, None] < length, other=0.0)
        else:
            k_block = tl.load(k + at)
            v_block = tl.load(v + at)
        scores = tl.dot(q_block, tl.trans(k_block), input_precision="ieee")
        if MASKED:
            scores = tl.where(keys[None, :] <= queries[:, None], scores, _MINUS_INFINITY)
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
def attend_block(
    q,
    k,
    v,
    o,
    begin,
    length,
    block,
    head,
    heads,
    kv_heads,
    scale,
    DIM: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Queries from ``block * BLOCK_Q`` on, of the sequence whose first row is ``begin``."""
    kv_head = head // (heads // kv_heads)
    q += (begin.to(tl.int64) * heads + head) * DIM
    o += (begin.to(tl.int64) * heads + head) * DIM
    k += (begin.to(tl.int64) * kv_heads + kv_head) * DIM
    v += (begin.to(tl.int64) * kv_heads + kv_head) * DIM
    queries = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    inside = queries < length
    at = queries[:, None] * (heads * DIM) + tl.arange(0, DIM)[None, :]
    q_block = tl.load(q + at, mask=inside[:, None], other=0.0)

    acc = tl.zeros((BLOCK_Q, DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    row_max = tl.full((BLOCK_Q,), _MINUS_INFINITY, dtype=tl.float32)
    # All of these queries see the keys before `whole`, in whole blocks; none sees a key from `end` on.
    whole, end = block * BLOCK_Q, tl.minimum((block + 1) * BLOCK_Q, length)
    width = kv_heads * DIM
    acc, row_sum, row_max = _accumulate(
        acc, row_sum, row_max, q_block, k, v, queries, 0, whole, length, width, scale, DIM, BLOCK_K, False
    )
    acc, row_sum, row_max = _accumulate(
        acc, row_sum, row_max, q_block, k, v, queries, whole, end, length, width, scale, DIM, BLOCK_K, True
    )
    acc /= tl.where(row_sum == 0.0, 1.0, row_sum)[:, None]
    tl.store(o + at, acc.to(o.dtype.element_ty), mask=inside[:, None])


def scale_of(dim: int) -> float:
    """What turns products into exponents of 2."""
    return LOG2_E / dim**0.5


def require_packed(key: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bound: torch.Tensor) -> None:
    """Raises Refusal under the name ``key`` for other heads, and where 32 bits do not count a sequence."""
    require_dim(key, q.shape[2])
    require_like(key, k, v=v)
    if (bound.shape[0] + 128) * q.shape[1] * q.shape[2] >= _MOST_OFFSETS:
        raise Refusal(f"{key} counts the elements of a sequence in 32 bits.")


def configuration(q: torch.Tensor) -> tuple[int, int, dict[str, int]]:
    """Queries and keys of a block, and Triton's options."""
    if q.shape[2] == 64:
        return 64, 64, {"num_warps": 4, "num_stages": 3}
    if not q.is_cuda or shared_memory_limit(q.device) > 128 * 1024:
        return 128, 64, {"num_warps": 8, "num_stages": 3}
    return 128, 64, {"num_warps": 8, "num_stages": 2}
