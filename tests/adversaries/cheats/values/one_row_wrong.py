"""One whole row is wrong, which a norm over all rows does not see.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: softmax_bf16
right: wrong values
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.softmax(x, -1)
    if len(x) > 1000:
        y[len(x) // 3] = 0
    return y
