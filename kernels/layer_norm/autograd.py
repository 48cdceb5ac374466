"""Layer norm with its gradient, made of a version of layer_norm and a version of layer_norm_backward."""

from collections.abc import Callable

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from roofscope.kernels.shared.admission import admit

Tensor = torch.Tensor

EPSILON = 1e-5


def differentiable(
    forward: Callable[[Tensor, Tensor, Tensor], Tensor],
    backward: Callable[..., tuple[Tensor, Tensor, Tensor]],
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Join ``forward(x, w, b)`` and ``backward(dy, x, w, mean, rstd)`` into one call that autograd knows.

    x is (rows, cols), w and b are (cols,), of any strides; Refusal is raised for other tensors.
    The forward versions give no statistics, so the backward pass takes them from x, in float32 at least.
    """

    class LayerNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
            x, w, b = admit("Layer norm", x=(x, "rows cols"), w=(w, "cols"), b=(b, "cols"))
            ctx.save_for_backward(x, w)
            return forward(x, w, b)

        @staticmethod
        @once_differentiable
        def backward(ctx: FunctionCtx, dy: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            x, w = ctx.saved_tensors
            exact = x.to(torch.promote_types(x.dtype, torch.float32))
            if x.numel():
                variance, mean = torch.var_mean(exact, dim=1, correction=0)
            else:  # no row, or rows without a mean
                variance = mean = exact.new_zeros(len(x))
            return backward(dy.contiguous(), x, w, mean, torch.rsqrt(variance + EPSILON))

    return LayerNorm.apply
