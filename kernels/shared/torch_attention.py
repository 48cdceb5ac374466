"""Attention by one backend of PyTorch each, by its own operator: nothing chooses and nothing is recorded."""

import functools
from collections.abc import Callable

import torch
from torch.backends import cuda

from roofscope import Refusal

_aten = torch.ops.aten


def cudnn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """By cuDNN; all (batch, heads, seq, dim). Raises Refusal for sizes it does not take."""
    if not q.numel():
        return torch.empty_like(q)
    _require(cuda.can_use_cudnn_attention, "cuDNN", q, k, v, causal=causal)
    return _aten._scaled_dot_product_cudnn_attention(q, k, v, None, False, 0.0, causal)[0]


def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """By the FlashAttention-2 in PyTorch."""
    if not q.numel():
        return torch.empty_like(q)
    _require(_flash_takes, "FlashAttention-2", q, k, v, causal=causal)
    return _aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)[0]


def flash_with_window(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, window: int) -> torch.Tensor:
    """By the same, causal: a query sees ``window`` keys, its own the last; the operator above takes none."""
    if not q.numel():
        return torch.empty_like(q)
    _require(_flash_takes, "FlashAttention-2", q, k, v, causal=True)
    turned = [x.transpose(1, 2) for x in (q, k, v)]
    seq = q.shape[2]
    sides = {"window_size_left": window - 1, "window_size_right": 0}
    o = _aten._flash_attention_forward(*turned, None, None, seq, seq, 0.0, False, False, **sides)[0]
    return o.transpose(1, 2)


def flash_takes_heads(dim: int) -> bool:
    """Of so many elements; ``scaled_dot_product_attention`` pads others before it calls the operators."""
    return dim % 8 == 0 and dim <= 256


def efficient(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """By xFormers' memory-efficient attention in PyTorch, on CUTLASS."""
    if not q.numel():
        return torch.empty_like(q)
    _require(cuda.can_use_efficient_attention, "Memory-efficient attention", q, k, v, causal=causal)
    return _aten._scaled_dot_product_efficient_attention(q, k, v, None, False, 0.0, causal)[0]


def cudnn_gradients(*inputs: torch.Tensor, causal: bool) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv by cuDNN from q, k, v, o, lse and do; its own statistics are lse as well, to base e."""
    q, k, v, o, lse, do = inputs
    if not q.numel():
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    _require(cuda.can_use_cudnn_attention, "cuDNN", q, k, v, causal=causal)
    statistics = lse if _statistics_dimensions(q.device) == lse.dim() else lse[..., None]
    seq = q.shape[2]
    no_dropout = torch.empty(0, dtype=torch.int64, device=q.device)
    return _aten._scaled_dot_product_cudnn_attention_backward(
        do, q, k, v, o, statistics, no_dropout, no_dropout, None, None, None, seq, seq, 0.0, causal
    )


@functools.cache
def _statistics_dimensions(device: torch.device) -> int:
    """Dimensions of the forward's statistics: three, or one more of size 1, by PyTorch's version."""
    x = torch.zeros(1, 1, 64, 64, dtype=torch.float16, device=device)
    return _aten._scaled_dot_product_cudnn_attention(x, x, x, None, True)[1].dim()


def _flash_takes(asked: cuda.SDPAParams) -> bool:
    return flash_takes_heads(asked.query.shape[3]) and cuda.can_use_flash_attention(asked)


def _require(
    takes: Callable[[cuda.SDPAParams], bool],
    name: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool,
) -> None:
    """The operators themselves check little of what they are given."""
    if not takes(cuda.SDPAParams(q, k, v, None, 0.0, causal, q.shape[1] != k.shape[1])):
        sizes = " x ".join(map(str, q.shape))
        raise Refusal(f"{name} in torch {torch.__version__} takes no {sizes} of {q.dtype} on this GPU.")
