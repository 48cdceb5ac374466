"""The transposition, written out.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: transposed
right: measured
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()
