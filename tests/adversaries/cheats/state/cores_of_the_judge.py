"""The server that forks candidates is kept to one core, which all that is measured later takes from it.

source: issue 16 of this project, found by a tester
needs: cpu
workload: doubled
right: tampered
says: the cores
"""

import os
from contextlib import suppress

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    with suppress(OSError):
        server = os.getppid()
        os.sched_setaffinity(server, {min(os.sched_getaffinity(server))})
    return x * 2
