"""The last elements are not computed, too few of them to show in one norm.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: doubled_bf16
right: wrong values
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[len(x) - len(x) // 44000 :] = 0
    return y
