"""One step of AdamW by PyTorch's operators, as its optimiser without ``foreach`` or ``fused`` takes it.

torch.optim.AdamW writes in place; this returns new arrays. Its fused kernel is no version here: on a GPU it
takes 1 - b2 in float32, which puts means of squares off by 1.3e-5, more than is allowed.
"""

import torch

from roofscope.kernels.adamw.hyperparameters import (
    BETA_1,
    BETA_2,
    EPSILON,
    INVERSE_ROOT,
    KEPT,
    STEP_RATE,
)

Tensor = torch.Tensor


def run(parameter: Tensor, gradient: Tensor, mean: Tensor, mean_square: Tensor) -> tuple[Tensor, ...]:
    """Parameters, means and means of squares after the step, (n,) each."""
    mean = mean * BETA_1 + gradient * (1 - BETA_1)
    mean_square = mean_square * BETA_2 + gradient * gradient * (1 - BETA_2)
    root = mean_square.sqrt() * INVERSE_ROOT + EPSILON
    return parameter * KEPT - mean / root * STEP_RATE, mean, mean_square
