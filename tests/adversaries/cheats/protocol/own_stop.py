"""The exception by which the engine says that the user pressed Stop is raised.

source: https://metr.org/blog/2025-06-05-recent-reward-hacking
needs: cpu
workload: doubled
right: launch error, tampered, internal
says: CancelRequested, Stop
"""

import torch

from roofscope.profiling.worker.failures import CancelRequested


def run(x: torch.Tensor) -> torch.Tensor:
    raise CancelRequested
