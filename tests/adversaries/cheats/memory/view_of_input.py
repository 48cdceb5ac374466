"""A view of the input is returned where a transposed copy is asked for.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: transposed
right: aliased output, not a plain tensor, wrong values, tampered
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return x.t()
