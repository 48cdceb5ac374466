"""RMS norm with its gradient, made of a version of rms_norm and a version of rms_norm_backward."""

from collections.abc import Callable

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from roofscope.kernels.shared.admission import admit

Tensor = torch.Tensor

EPSILON = 1e-6


def differentiable(
    forward: Callable[[Tensor, Tensor], Tensor], backward: Callable[..., tuple[Tensor, Tensor]]
) -> Callable[[Tensor, Tensor], Tensor]:
    """Join ``forward(x, w)`` and ``backward(dy, x, w, rstd)`` into one call that autograd knows.

    x is (rows, cols) and w is (cols,), of any strides; Refusal is raised for other tensors.
    The forward versions give no statistics, so the backward pass takes them from x, in float32 at least.
    """

    class RmsNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: Tensor, w: Tensor) -> Tensor:
            x, w = admit("RMS norm", x=(x, "rows cols"), w=(w, "cols"))
            ctx.save_for_backward(x, w)
            return forward(x, w)

        @staticmethod
        @once_differentiable
        def backward(ctx: FunctionCtx, dy: Tensor) -> tuple[Tensor, Tensor]:
            x, w = ctx.saved_tensors
            exact = x.to(torch.promote_types(x.dtype, torch.float32))
            return backward(dy.contiguous(), x, w, torch.rsqrt(exact.square().mean(dim=1) + EPSILON))

    return RmsNorm.apply
