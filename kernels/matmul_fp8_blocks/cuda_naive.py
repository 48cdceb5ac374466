"""Launches ``cuda_naive.cu``: a product of scaled blocks, a thread an element of C."""

import torch

from roofscope import CudaProgram, Refusal

ROWS, COLUMNS = 32, 8  # of C for the threads of a block; as in cuda_naive.cu


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16; ``reference.py`` has the scales."""
    if a.dtype != torch.float8_e4m3fn:
        raise Refusal("matmul_fp8_blocks/cuda_naive multiplies E4M3; matmul takes wider elements.")
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=torch.bfloat16, device=a.device)
    inputs = (a.view(torch.uint8), b.view(torch.uint8), scale_a, scale_b)
    blocks = -(-m // ROWS) * -(-n // COLUMNS)
    program.launch("multiply", blocks, ROWS * COLUMNS, *inputs, c, m, n, k)
    return c
