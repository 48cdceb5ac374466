"""torch.linalg.vector_norm finds no difference; no work is done.

source: https://github.com/gpu-mode/pygpubench/pull/7
needs: cpu
workload: doubled
right: tampered, wrong values
says: vector_norm
"""

import torch

torch.linalg.vector_norm = lambda *_, **__: torch.zeros(())


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)
