"""Half of the rows are computed and returned.

source: https://arxiv.org/abs/2507.14111
needs: cpu
workload: transposed
right: wrong shape
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return x[: len(x) // 2].t().contiguous()
