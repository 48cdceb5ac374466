"""Softmax with its gradient, made of a version of softmax and a version of softmax_backward."""

from collections.abc import Callable

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from roofscope.kernels.shared.admission import admit

Tensor = torch.Tensor


def differentiable(
    forward: Callable[[Tensor], Tensor], backward: Callable[[Tensor, Tensor], Tensor]
) -> Callable[[Tensor], Tensor]:
    """Join ``forward(x)`` and ``backward(dy, y)`` into one call that autograd knows; y is kept, and not x.

    x is (rows, cols), of any strides: ``softmax(x.T)`` is right. Raises Refusal for other tensors.
    """

    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
            (x,) = admit("Softmax", x=(x, "rows cols"))
            y = forward(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        @once_differentiable
        def backward(ctx: FunctionCtx, dy: Tensor) -> Tensor:
            (y,) = ctx.saved_tensors
            return backward(dy.contiguous(), y)

    return Softmax.apply
