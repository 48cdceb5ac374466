"""Float64 reference of one step of AdamW."""

import torch

from roofscope.kernels.adamw.hyperparameters import BETA_1, BETA_2, DECAY, EPSILON, RATE, STEP

Tensor = torch.Tensor


def run(parameter: Tensor, gradient: Tensor, mean: Tensor, mean_square: Tensor) -> tuple[Tensor, ...]:
    """Parameters, means and means of squares after the step, (n,) each, as Loshchilov and Hutter write it."""
    parameter, gradient, mean, mean_square = (x.double() for x in (parameter, gradient, mean, mean_square))
    mean = BETA_1 * mean + (1 - BETA_1) * gradient
    mean_square = BETA_2 * mean_square + (1 - BETA_2) * gradient**2
    corrected, corrected_square = mean / (1 - BETA_1**STEP), mean_square / (1 - BETA_2**STEP)
    update = corrected / (corrected_square.sqrt() + EPSILON)
    return parameter - RATE * (update + DECAY * parameter), mean, mean_square
