"""One element of each 44000 is wrong.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: doubled_bf16
right: wrong values
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[43999::44000] = 0
    return y
