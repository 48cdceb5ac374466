"""Launches ``cuda_packed.cu``: one step of AdamW, one thread per pack of 16 bytes of each array."""

import ctypes

import torch

from roofscope.kernels.adamw.hyperparameters import (
    BETA_1,
    BETA_2,
    EPSILON,
    INVERSE_ROOT,
    KEPT,
    STEP_RATE,
)

THREADS = 256  # as in cuda_packed.cu
PACK = 4
Tensor = torch.Tensor
# Rates of cuda_packed.cu, member by member.
_RATES = (ctypes.c_float * 7)(KEPT, 1 - BETA_1, BETA_2, 1 - BETA_2, INVERSE_ROOT, EPSILON, STEP_RATE)


def run(
    program, parameter: Tensor, gradient: Tensor, mean: Tensor, mean_square: Tensor
) -> tuple[Tensor, ...]:
    """Parameters, means and means of squares after the step, (n,) each; inputs are contiguous."""
    n = parameter.numel()
    new = tuple(torch.empty_like(x) for x in (parameter, mean, mean_square))
    inputs = (parameter, gradient, mean, mean_square)
    program.launch("adamw", -(-n // (THREADS * PACK)), THREADS, *inputs, *new, _RATES, n)
    return new
