"""Launches ``cuda_naive.cu``: one step of AdamW, one thread per parameter."""

import numpy as np
import torch

from roofscope.kernels.adamw.hyperparameters import BETA_1, BETA_2, DECAY, EPSILON, RATE, STEP

THREADS = 256
Tensor = torch.Tensor
_CONSTANTS = tuple(np.float64(value) for value in (RATE, BETA_1, BETA_2, EPSILON, DECAY, STEP))


def run(
    program, parameter: Tensor, gradient: Tensor, mean: Tensor, mean_square: Tensor
) -> tuple[Tensor, ...]:
    """Parameters, means and means of squares after the step, (n,) each; inputs are contiguous."""
    n = parameter.numel()
    new = tuple(torch.empty_like(x) for x in (parameter, mean, mean_square))
    inputs = (parameter, gradient, mean, mean_square)
    program.launch("adamw", -(-n // THREADS), THREADS, *inputs, *new, *_CONSTANTS, n)
    return new
