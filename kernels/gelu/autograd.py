"""GELU with its gradient, made of a version of gelu and a version of gelu_backward."""

from collections.abc import Callable

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from roofscope.kernels.shared.admission import admit

Call = Callable[..., torch.Tensor]


def differentiable(forward: Call, backward: Call) -> Call:
    """Join ``forward(x)`` and ``backward(dy, x)`` into one call that autograd can go through.

    Both take contiguous tensors of one dimension, as the versions of ``gelu`` and ``gelu_backward`` do; the
    joint call takes an x of any shape and strides. x is kept between them: to store the derivative would be
    one more tensor to write. Raises Refusal for what is no dense tensor of floating-point elements.

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

    def gelu(x: torch.Tensor) -> torch.Tensor:
        (x,) = admit("GELU", x=(x, "..."))
        # The views are autograd's, so that the result may be changed in place.
        return Gelu.apply(x.view(-1)).view(x.shape)

    return gelu
