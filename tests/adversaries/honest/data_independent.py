"""A table whose values do not depend on the input's, fast and right.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: positions
right: measured
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(len(x), dtype=x.dtype, device=x.device) / len(x)
