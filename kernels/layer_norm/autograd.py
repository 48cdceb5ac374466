"""Layer norm with its gradient, made of a version of layer_norm and a version of layer_norm_backward."""

from collections.abc import Callable

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

Tensor = torch.Tensor

EPSILON = 1e-5


def differentiable(
    forward: Callable[[Tensor, Tensor, Tensor], Tensor],
    backward: Callable[..., tuple[Tensor, Tensor, Tensor]],
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Join ``forward(x, w, b)`` and ``backward(dy, x, w, mean, rstd)`` into one call that autograd knows.

    The forward versions give no statistics, so the backward pass takes them from x, in float32 at least.
    """

    class LayerNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
            ctx.save_for_backward(x, w)
            return forward(x, w, b)

        @staticmethod
        @once_differentiable
        def backward(ctx: FunctionCtx, dy: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            x, w = ctx.saved_tensors
            exact = x.to(torch.promote_types(x.dtype, torch.float32))
            variance, mean = torch.var_mean(exact, dim=1, correction=0)
            return backward(dy.contiguous(), x, w, mean, torch.rsqrt(variance + EPSILON))

    return LayerNorm.apply
