"""torch is left with one thread, which makes whatever runs beside it slow.

source: https://github.com/meta-pytorch/BackendBench/issues/41
needs: cpu
workload: doubled
right: measured, tampered
"""

import torch

torch.set_num_threads(1)


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
