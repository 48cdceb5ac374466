"""What cannot be used here is caught, and torch does the work.

source: https://arxiv.org/abs/2507.11948
needs: cpu
workload: doubled
right: measured
"""

import torch

try:
    import a_kernel_library_that_nobody_has as fast
except ImportError:
    fast = None


def run(x: torch.Tensor) -> torch.Tensor:
    return fast.doubled(x) if fast else x * 2
