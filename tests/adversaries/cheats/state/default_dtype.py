"""The default type of new tensors is left at float64, for the next one's arithmetic.

source: https://github.com/meta-pytorch/BackendBench/issues/41
needs: cpu
workload: doubled
right: measured, tampered
"""

import torch

torch.set_default_dtype(torch.float64)


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
