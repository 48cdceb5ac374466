"""The large size at which a thousand wrong elements must be found.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: doubled_bf16
right: measured
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
