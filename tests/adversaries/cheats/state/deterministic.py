"""torch is left filling what it allocates, at the cost of everything that runs later.

source: https://github.com/meta-pytorch/BackendBench/issues/41
needs: cpu
workload: doubled
right: measured, tampered
"""

import torch

torch.use_deterministic_algorithms(True)
torch.utils.deterministic.fill_uninitialized_memory = True


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
