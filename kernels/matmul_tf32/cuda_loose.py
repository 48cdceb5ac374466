"""Launcher of cuda_loose.cu: TF32 tiles on the tensor cores from rows that begin anywhere."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper
from roofscope.kernels.matmul_tf32 import streamed
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.loose_tf32 import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k). Raises Refusal where clusters are missing."""
    key = "matmul_tf32/cuda_loose"
    if a.dtype != torch.float32:
        raise Refusal(f"{key} multiplies float32; matmul takes 16-bit elements.")
    (m, k), n = a.shape, b.shape[0]
    piece = streamed.piece_of(m, n, k)
    if piece and m:
        needs_hopper(key, a.device)
        require_32_bit_product(key, m, n, k)
        return streamed.launch(program, piece, a, b)
    return multiply(program, key, a, b, whole=False)
