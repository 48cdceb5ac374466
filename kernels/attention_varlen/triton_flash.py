"""Causal attention over packed sequences in Triton: a program for each block that a sequence could have.

Formula: that of blocks.py, with its FLOP and bytes.
Mapping: the grid is that of sequences which are all as long as the longest; programs beyond the end of their
own return at once. Blocks with most keys start first, of all sequences and heads.
Idea: Dao, "FlashAttention-2", arXiv:2307.08691, and Milakov and Gimelshein, arXiv:1805.02867. Goes on from
cuda_naive, where what is read for one query serves no other: here a block of queries shares it.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.attention_varlen.blocks import attend_block, configuration, require_packed, scale_of

DOMAIN = "(dim == 64 or dim == 128) and (128*shortest + 128)*kv_heads*group*dim < 2**31"

Tensor = torch.Tensor


@triton.jit
def _attend(
    q,
    k,
    v,
    o,
    offsets,
    batch,
    blocks,
    heads,
    kv_heads,
    scale,
    DIM: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    head = tl.program_id(0) % heads
    sequence = tl.program_id(0) // heads % batch
    block = blocks - 1 - tl.program_id(0) // heads // batch
    begin = tl.load(offsets + sequence)
    length = tl.load(offsets + sequence + 1) - begin
    if block * BLOCK_Q >= length:
        return
    attend_block(q, k, v, o, begin, length, block, head, heads, kv_heads, scale, DIM, BLOCK_Q, BLOCK_K)


def run(q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values it sees, (tokens, heads, dim); ``reference.py`` has the shapes.

    Rows that are in no sequence are not written. Raises Refusal for heads of other than 64 or 128 elements
    and beyond 32-bit counts.
    """
    require_packed("attention_varlen/triton_flash", q, k, v, bound)
    o = torch.empty_like(q)
    if not q.numel():
        return o
    (_, heads, dim), batch = q.shape, len(offsets) - 1
    block_q, block_k, options = configuration(q)
    blocks = triton.cdiv(bound.shape[0], block_q)
    _attend[(blocks * batch * heads,)](
        q, k, v, o, offsets, batch, blocks, heads, k.shape[1], scale_of(dim),
        DIM=dim, BLOCK_Q=block_q, BLOCK_K=block_k, **options,
    )  # fmt: skip
    return o
