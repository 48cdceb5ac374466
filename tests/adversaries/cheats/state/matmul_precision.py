"""Products of float32 are left at low precision for whatever runs later.

source: https://github.com/meta-pytorch/BackendBench/issues/41
needs: cpu
workload: doubled
right: measured, tampered
"""

import torch

torch.set_float32_matmul_precision("medium")
torch.backends.cuda.matmul.allow_tf32 = True


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
