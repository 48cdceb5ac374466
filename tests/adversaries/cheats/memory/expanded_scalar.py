"""One number a row is returned, expanded: the rows are never written.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: row_means
right: aliased output, not a plain tensor, wrong values, tampered
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return (1 + x.mean(-1, keepdim=True)).expand(x.shape)
