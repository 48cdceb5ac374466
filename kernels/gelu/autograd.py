"""GELU with its gradient, made of a version of gelu and a version of gelu_backward."""

from collections.abc import Callable

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

Call = Callable[..., torch.Tensor]


def differentiable(forward: Call, backward: Call) -> Call:
    """Join ``forward(x)`` and ``backward(dy, x)`` into one call that autograd can go through.

    Both take contiguous tensors of one dimension, as the versions of ``gelu`` and ``gelu_backward`` do. x is
    kept between them: to store the derivative would be one more tensor to write.

    >>> gelu = differentiable(gelu_run, gelu_backward_run)
    >>> gelu(x).sum().backward()  # fills x.grad
    """

    class Gelu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        @once_differentiable
        def backward(ctx: FunctionCtx, dy: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return backward(dy.contiguous(), x)  # the gradient of a sum is one element, expanded

    return Gelu.apply
