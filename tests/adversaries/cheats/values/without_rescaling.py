"""A softmax leaves out the largest value's subtraction, which small inputs do not need.

source: https://github.com/anthony-chaudhary/dos-kernel/issues/107
needs: cpu
workload: softmax_bf16
right: wrong values
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.exp(x)
    return y / y.sum(-1, keepdim=True)
