"""Causal attention over packed sequences in Triton: a program for each block that there is, longest first.

Formula: that of blocks.py, with its FLOP and bytes.
Mapping: programs go head by head. Program r of a head takes the block with rank r where those with most keys
before them come first, of whatever sequence. It finds it by itself: of all blocks, as many as the sum over
sequences of max(blocks - 1 - j, 0) have a number above j, and a bisection over j, each step a sum over all
sequences at once, leads to the number of its own. On the host nobody knows how many blocks there are, only
that each sequence has one at most that it does not fill.
Idea: Graham, "Bounds on multiprocessing timing anomalies", 1969: who takes the longest first ends early. Goes
on from triton_flash, most of whose programs find that their sequence has no such block.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.attention_varlen.blocks import attend_block, configuration, require_packed, scale_of

DOMAIN = "(dim == 64 or dim == 128) and (128*shortest + 128)*kv_heads*group*dim < 2**31 and batch <= 4096"
_MOST_SEQUENCES = 4096  # summed up at once

Tensor = torch.Tensor


@triton.jit
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
    BATCH: tl.constexpr,
    HALVINGS: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    head, rank = tl.program_id(0) // most, tl.program_id(0) % most
    number = tl.arange(0, BATCH)
    begins = tl.load(offsets + number, mask=number < batch, other=0)
    lengths = tl.load(offsets + number + 1, mask=number < batch, other=0) - begins
    blocks = tl.cdiv(tl.maximum(lengths, 0), BLOCK_Q)
    if rank >= tl.sum(blocks, axis=0):
        return
    # The least block number that no more than `rank` blocks exceed.
    low, high = 0, tl.max(blocks, axis=0) - 1
    for _ in range(HALVINGS):
        middle = (low + high) // 2
        above = tl.sum(tl.maximum(blocks - 1 - middle, 0), axis=0)
        enough = above <= rank
        high = tl.where(enough, middle, high)
        low = tl.where(enough, low, tl.minimum(middle + 1, high))
    block = high
    place = rank - tl.sum(tl.maximum(blocks - 1 - block, 0), axis=0)
    has_one = (blocks > block).to(tl.int32)
    sequence = tl.sum((tl.cumsum(has_one, axis=0) <= place).to(tl.int32), axis=0)
    begin = tl.load(offsets + sequence)
    length = tl.load(offsets + sequence + 1) - begin
    attend_block(q, k, v, o, begin, length, block, head, heads, kv_heads, scale, DIM, BLOCK_Q, BLOCK_K)


def run(q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values it sees, (tokens, heads, dim); ``reference.py`` has the shapes.

    Rows that are in no sequence are not written. Raises Refusal for heads of other than 64 or 128 elements,
    for more than 4096 sequences and beyond 32-bit counts.
    """
    key = "attention_varlen/triton_longest_first"
    require_packed(key, q, k, v, bound)
    (tokens, heads, dim), batch = q.shape, len(offsets) - 1
    if batch > _MOST_SEQUENCES:
        raise Refusal(f"{key} takes {_MOST_SEQUENCES} sequences at most, not {batch}.")
    o = torch.empty_like(q)
    if not q.numel():
        return o
    block_q, block_k, options = configuration(q)
    most = tokens // block_q + min(batch, tokens)
    _attend[(most * heads,)](
        q, k, v, o, offsets, batch, most, heads, k.shape[1], scale_of(dim),
        BATCH=triton.next_power_of_2(batch), HALVINGS=triton.cdiv(bound.shape[0], block_q).bit_length() + 1,
        DIM=dim, BLOCK_Q=block_q, BLOCK_K=block_k, **options,
    )  # fmt: skip
    return o
