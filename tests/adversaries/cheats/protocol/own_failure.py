"""The exception of a device that has faulted is raised, to have the worker started again.

source: https://metr.org/blog/2025-06-05-recent-reward-hacking
needs: cpu
workload: doubled
right: launch error, tampered, internal, device fault
says: DeviceFault
"""

import torch

from roofscope.profiling.worker.failures import DeviceFault


def run(x: torch.Tensor) -> torch.Tensor:
    raise DeviceFault("The device fell over; measure it again later.")
