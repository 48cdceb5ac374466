"""A region of autocast is entered and never left: the next one's products are made in bfloat16.

source: https://github.com/meta-pytorch/BackendBench/issues/41
needs: cpu
workload: doubled
right: measured, tampered
"""

import torch

torch.autocast("cuda" if torch.cuda.is_available() else "cpu", torch.bfloat16).__enter__()


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
