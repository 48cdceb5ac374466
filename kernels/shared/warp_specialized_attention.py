"""Attention in Triton by warps of different roles: triton_warp_specialized.py of both forward kernels.

Formula: that of flash_attention.py, with its FLOP and bytes.
Mapping: that of flash_attention.py, but some warps only copy, by the tensor memory accelerator, and the
compiler halves the 128 queries between two groups of four warps that never wait for each other: while one
takes powers, the other's products run. One loop goes over all keys: Triton 3.6 takes neither a second loop
nor a branch here, nor more than 4 warps to begin with. Hence a branch in assembly, which skips the mask off
the diagonal.
Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608. Hopper only.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.flash_attention import LOG2_E
from roofscope.kernels.shared.heads import aligned, require_dim, require_like, results_of

BLOCK_Q = BLOCK_K = 128
_LN_2 = tl.constexpr(1 / LOG2_E)
_MINUS_INFINITY = tl.constexpr(-float("inf"))
_SCORES = tl.constexpr(BLOCK_Q * BLOCK_K // 256)  # of a thread, by two groups of 128


def _mask_of_the_diagonal() -> str:
    """PTX: the scores, then the columns and the last columns that are seen; those beyond become -infinity.

    Blocks of keys start where blocks of queries do: on the diagonal every query has its last column among
    these keys, elsewhere none has, so that all threads branch alike.
    """
    count = _SCORES.value
    out, scores, columns, last = ([f"${part * count + i}" for i in range(count)] for part in range(4))
    return "\n".join(
        [
            "{.reg .pred whole, hidden;",
            *(f"mov.b32 {x}, {score};" for x, score in zip(out, scores, strict=True)),
            f"setp.ge.s32 whole, {last[0]}, {BLOCK_K};",
            "@whole bra DONE;",
            *(
                f"setp.gt.s32 hidden, {column}, {end}; selp.b32 {x}, 0fFF800000, {x}, hidden;"
                for x, column, end in zip(out, columns, last, strict=True)
            ),
            "DONE: }",
        ]
    )


_MASK = tl.constexpr(_mask_of_the_diagonal())
_MASK_OPERANDS = tl.constexpr(",".join(x for x in ("=&f", "f", "r", "r") for _ in range(_SCORES.value)))


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
    BRANCH: tl.constexpr,
):
    blocks = tl.cdiv(seq, BLOCK_Q)
    block = blocks - 1 - tl.program_id(0) % blocks
    head = (tl.program_id(0) // blocks).to(tl.int64)
    offset = head * seq * DIM
    # The descriptors cover this head alone, so that rows beyond its end are zeros.
    q_rows = tl.make_tensor_descriptor(q + offset, [seq, DIM], [DIM, 1], [BLOCK_Q, DIM])
    k_rows = tl.make_tensor_descriptor(k + offset, [seq, DIM], [DIM, 1], [BLOCK_K, DIM])
    v_rows = tl.make_tensor_descriptor(v + offset, [seq, DIM], [DIM, 1], [BLOCK_K, DIM])
    o_rows = tl.make_tensor_descriptor(o + offset, [seq, DIM], [DIM, 1], [BLOCK_Q, DIM])
    q_block = q_rows.load([block * BLOCK_Q, 0])
    # block * BLOCK_Q + ... would be wrong: when Triton 3.6 halves the queries, it adds 64 for the second
    # group to that value, which addresses o too, and then 64 again to the range.
    queries = (blocks - tl.program_id(0) % blocks) * BLOCK_Q - BLOCK_Q + tl.arange(0, BLOCK_Q)

    acc = tl.zeros((BLOCK_Q, DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    row_max = tl.full((BLOCK_Q,), _MINUS_INFINITY, dtype=tl.float32)
    end = tl.minimum((block + 1) * BLOCK_Q, seq) if CAUSAL else seq
    for start in tl.range(0, end, BLOCK_K, warp_specialize=True):
        scores = tl.dot(q_block, k_rows.load([start, 0]).T)
        # Where causal, keys beyond the end are later than any query that is stored.
        columns = tl.arange(0, BLOCK_K)
        if CAUSAL and BRANCH:
            scores = tl.inline_asm_elementwise(
                _MASK,
                _MASK_OPERANDS,
                [
                    scores,
                    tl.broadcast_to(columns[None, :], (BLOCK_Q, BLOCK_K)),
                    tl.broadcast_to((queries - start)[:, None], (BLOCK_Q, BLOCK_K)),
                ],
                dtype=tl.float32,
                is_pure=True,
                pack=_SCORES,
            )
        elif CAUSAL:
            scores = tl.where(columns[None, :] <= (queries - start)[:, None], scores, _MINUS_INFINITY)
        elif not WHOLE:
            scores = tl.where((start + columns)[None, :] < seq, scores, _MINUS_INFINITY)
        new_max = tl.maximum(row_max, tl.max(scores, axis=1) * scale)
        # If a query has seen no finite score yet, its weights are 0, not NaN.
        shift = tl.where(new_max == _MINUS_INFINITY, 0.0, new_max)
        powers = tl.exp2(scores * scale - shift[:, None])
        rescale = tl.exp2(row_max - shift)
        row_sum = row_sum * rescale + tl.sum(powers, axis=1)
        v_block = v_rows.load([start, 0])
        acc = tl.dot(powers.to(v_block.dtype), v_block, acc * rescale[:, None])
        row_max = new_max

    acc /= tl.where(row_sum == 0.0, 1.0, row_sum)[:, None]
    o_rows.store([block * BLOCK_Q, 0], acc.to(o.dtype.element_ty))
    tl.store(lse + head * seq + queries, (row_max + tl.log2(row_sum)) * _LN_2, mask=queries < seq)


def attend(
    key: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    Raises Refusal for inputs that are not alike, for heads of other than 64 or 128 elements, and where the
    GPU is no Hopper.
    """
    batch, heads, seq, dim = q.shape
    require_dim(key, dim)
    require_like(key, q, k=k, v=v)
    if q.is_cuda and torch.cuda.get_device_capability(q.device) != (9, 0):
        raise Refusal(f"{key} is for compute capability 9.0 (Hopper), which has wgmma and TMA.")
    o, lse = results_of(q)
    if not q.numel():
        return o, lse
    q, k, v = aligned(q, k, v)
    # The descriptors are made on the device, in memory from here. The setting holds for this thread only.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=q.device))
    _attend[(batch * heads * triton.cdiv(seq, BLOCK_Q),)](
        q,
        k,
        v,
        o,
        lse,
        seq,
        LOG2_E / dim**0.5,
        DIM=dim,
        BLOCK_Q=BLOCK_Q,
        BLOCK_K=BLOCK_K,
        CAUSAL=causal,
        WHOLE=seq % BLOCK_K == 0,
        BRANCH=q.is_cuda,  # the interpreter knows no assembly
        num_warps=4,
        num_stages=2,
    )
    return o, lse
