"""Launcher of cuda_wgmma.cu: TF32 tiles on the tensor cores by TMA and wgmma."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper
from roofscope.kernels.matmul_tf32 import amid
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.wgmma_matmul import choice, launch

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k). Raises Refusal where wgmma is missing."""
    key = "matmul_tf32/cuda_wgmma"
    if a.dtype != torch.float32:
        raise Refusal(f"{key} multiplies float32; matmul takes 16-bit elements.")
    needs_hopper(key, a.device)
    require_32_bit_product(key, a.shape[0], b.shape[0], a.shape[1])
    name, plan = choice(program, a, b, a.dtype)
    way = amid.faster_than_copies(a, b, plan.time_ns, program.multiprocessor_count)
    if way:
        return amid.launch(program, way.tile, way.cluster, a, b, turned=way.turned)
    return launch(program, name, a, b, a.dtype, plan=plan)
