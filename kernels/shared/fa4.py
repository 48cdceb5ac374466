"""FlashAttention-4, in the CuTe DSL, below its autograd function, which would keep tensors for a gradient.

Its tensors are (batch, seq, heads, dim) of any strides, so it reads ours and writes into ours without a copy.
It compiles at the first call for a dtype, a dim and a mask; tiles follow from these, and nothing is tuned.
"""

import torch
from flash_attn.cute.interface import _flash_attn_bwd, _flash_attn_fwd

from roofscope import Refusal

Tensor = torch.Tensor
_MOST_DIM = 256  # of the forward pass on Hopper


def attend(q: Tensor, k: Tensor, v: Tensor, *, causal: bool, window: int | None = None) -> Tensor:
    """The output, as all of these (batch, heads, seq, dim). Raises Refusal for sizes it does not take.

    With a ``window``, which is causal, a query sees as many keys, its own the last of them.
    """
    _require(q, _MOST_DIM)
    o = torch.empty_like(q)
    if window is None:
        _flash_attn_fwd(_turned(q), _turned(k), _turned(v), causal=causal, out=_turned(o))
    elif q.numel():
        sides = {"window_size_left": window - 1, "window_size_right": 0}
        _flash_attn_fwd(_turned(q), _turned(k), _turned(v), **sides, out=_turned(o))
    return o


def gradients(*inputs: Tensor, causal: bool) -> tuple[Tensor, Tensor, Tensor]:
    """dq, dk and dv from q, k, v, o, lse and do; its lse is to base e, as ours. Raises Refusal."""
    q, k, v, o, lse, do = inputs
    _require(q)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    of_inputs = [_turned(x) for x in (q, k, v, o, do)]
    _flash_attn_bwd(*of_inputs, lse, causal=causal, dq=_turned(dq), dk=_turned(dk), dv=_turned(dv))
    return dq, dk, dv


def decode(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """One query a sequence, (batch, heads, dim), on pages of a pool: kernels/paged_decode. Raises Refusal."""
    _require(q)
    o = torch.empty_like(q)
    if q.numel():
        _flash_attn_fwd(
            q[:, None], k, v, page_table=table, seqused_k=lengths, num_splits=_splits(q), out=o[:, None]
        )
    return o


def attend_packed(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """Causal, over packed sequences, (tokens, heads, dim): kernels/attention_varlen. Raises Refusal."""
    _require(q)
    o = torch.empty_like(q)
    if q.numel():
        of_queries = {"cu_seqlens_q": offsets, "max_seqlen_q": longest}
        of_keys = {"cu_seqlens_k": offsets, "max_seqlen_k": longest}
        _flash_attn_fwd(q, k, v, causal=True, out=o, **of_queries, **of_keys)
    return o


def _splits(q: Tensor) -> int:
    """0 lets it choose, also what it does not take: on Hopper it splits no sequence."""
    is_hopper = q.is_cuda and torch.cuda.get_device_capability(q.device)[0] == 9
    return 1 if is_hopper else 0


def _turned(x: Tensor) -> Tensor:
    return x.transpose(1, 2)


def _require(q: Tensor, most: int = 128) -> None:
    """On Blackwell it takes no more than 128 but 256, of both passes the forward one alone."""
    dim = q.shape[-1]
    if dim % 8 or dim > most:
        raise Refusal(f"FlashAttention-4 takes heads of up to {most} elements, a multiple of 8, not {dim}.")
    if q.is_cuda and torch.cuda.get_device_capability(q.device)[0] < 9:
        raise Refusal("FlashAttention-4 needs compute capability 9.0 for both of its passes.")
