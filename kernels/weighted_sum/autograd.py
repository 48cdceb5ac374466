"""The weighted sum with a gradient, from a provider's forward and backward calls."""

from collections.abc import Callable

import torch
from torch.autograd import Function
from torch.autograd.function import FunctionCtx, once_differentiable

from roofscope.kernels.shared.admission import admit

Tensor = torch.Tensor


def differentiable(
    forward: Callable[[Tensor, Tensor], Tensor],
    backward: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> Callable[[Tensor, Tensor], Tensor]:
    """``y = x w`` that autograd knows, of ``weighted_sum`` and ``weighted_sum_backward`` calls.

    ``forward(x, w)`` gives y and ``backward(dy, x, w)`` gives (dx, dw); they need not be of one provider.
    x is (rows, cols) and w is (cols,), of any strides; Refusal is raised for other tensors.
    """

    class WeightedSum(Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: Tensor, w: Tensor) -> Tensor:
            x, w = admit("Weighted sum", x=(x, "rows cols"), w=(w, "cols"))
            ctx.save_for_backward(x, w)
            return forward(x, w)

        @staticmethod
        @once_differentiable
        def backward(ctx: FunctionCtx, dy: Tensor) -> tuple[Tensor, Tensor]:
            x, w = ctx.saved_tensors
            return backward(dy.contiguous(), x, w)

    return WeightedSum.apply
