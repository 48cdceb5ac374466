"""Attention with a gradient, of a provider's forward and backward calls; causal where both of these are."""

from collections.abc import Callable

import torch
from torch.autograd import Function
from torch.autograd.function import FunctionCtx, once_differentiable

from roofscope.kernels.shared.admission import admit

Tensor = torch.Tensor


def differentiable(
    forward: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
    backward: Callable[..., tuple[Tensor, Tensor, Tensor]],
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """``o`` of (q, k, v) that autograd knows.

    ``forward(q, k, v)`` gives (o, lse): not the measured call, which gives ``o`` alone, but what lies behind
    it, such as ``with_lse`` of eager.py or ``attend`` of flash_attention.py. To keep lse costs 4 bytes a
    query; to find it again would cost half of the forward pass. ``backward(q, k, v, o, lse, do)`` gives (dq,
    dk, dv), as the versions of ``attention_backward`` do.

    q, k and v are of one shape and may have any strides, such as those of ``(batch, seq, heads, dim)``
    transposed. Raises Refusal for other tensors.

    >>> attention = differentiable(partial(attend, causal=True), partial(gradients, causal=True))
    >>> attention(q, k, v).sum().backward()  # fills q.grad, k.grad and v.grad
    """

    class Attention(Function):
        @staticmethod
        def forward(ctx: FunctionCtx, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            shape = "batch heads seq dim"
            q, k, v = admit("Attention", q=(q, shape), k=(k, shape), v=(v, shape))
            o, lse = forward(q, k, v)
            # PyTorch's own kernels give an o with heads inside of the sequence.
            ctx.save_for_backward(q, k, v, o.contiguous(), lse.contiguous())
            return o

        @staticmethod
        @once_differentiable
        def backward(ctx: FunctionCtx, do: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            # Contiguous: the gradient of a sum is one element, expanded.
            return backward(*ctx.saved_tensors, do.contiguous())

    return Attention.apply
