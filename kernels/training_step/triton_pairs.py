"""The training step by our kernels, each joined with its gradient into a call that autograd knows.

Formula: that of layer norm, GELU, weighted sum and their gradients, 52 rows cols FLOP; 13 rows cols s bytes
and those of the statistics, which the layer norm's gradient finds again, where 2 rows cols s are compulsory.
Mapping: those of layer_norm/triton_registers, gelu/triton_sigmoid, weighted_sum/triton_row_tiles and of the
gradients that stand beside them. PyTorch has the loss.
Lesson: every kernel is near its roof and the step is not: between two of them lies memory. Fast parts do not
make a fast whole; what is not written has not to be read.
Idea: the autograd functions of Triton's layer norm tutorial.
"""

import torch

from roofscope.kernels.gelu.autograd import differentiable as _gelu
from roofscope.kernels.gelu.triton_sigmoid import run as _gelu_forward
from roofscope.kernels.gelu_backward.triton_sigmoid import run as _gelu_backward
from roofscope.kernels.layer_norm.autograd import differentiable as _layer_norm
from roofscope.kernels.layer_norm.triton_registers import run as _layer_norm_forward
from roofscope.kernels.layer_norm_backward.triton_persistent import run as _layer_norm_backward
from roofscope.kernels.shared.limits import MOST_SUMMED_IN_TILE, require_row_in_tile
from roofscope.kernels.weighted_sum.autograd import differentiable as _weighted_sum
from roofscope.kernels.weighted_sum.triton_row_tiles import run as _weighted_sum_forward
from roofscope.kernels.weighted_sum_backward.triton_phases import run as _weighted_sum_backward

Tensor = torch.Tensor
DOMAIN = "cols <= 2**15"  # layer_norm_backward/triton_persistent

layer_norm = _layer_norm(_layer_norm_forward, _layer_norm_backward)
gelu = _gelu(_gelu_forward, _gelu_backward)
weighted_sum = _weighted_sum(_weighted_sum_forward, _weighted_sum_backward)


def run(x: Tensor, w: Tensor, b: Tensor, v: Tensor, t: Tensor) -> tuple[Tensor, ...]:
    """Loss and gradients of ``x``, (rows, cols), of ``w``, ``b`` and ``v``, (cols,), for targets ``t``."""
    require_row_in_tile("training_step/triton_pairs", x.shape[1], MOST_SUMMED_IN_TILE)
    with torch.enable_grad():
        leaves = [tensor.detach().requires_grad_() for tensor in (x, w, b, v)]
        weights = leaves[3]
        prediction = weighted_sum(gelu(layer_norm(*leaves[:3])), weights)
        loss = (prediction.float() - t).square().mean()
        gradients = torch.autograd.grad(loss, leaves)
    return loss.detach().view(1), *gradients
