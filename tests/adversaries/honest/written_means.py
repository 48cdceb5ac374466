"""The means, written to each element.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: row_means
right: measured
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return (1 + x.mean(-1, keepdim=True)).expand(x.shape).contiguous()
