"""It prints, logs its own time and looks at the clock: none of that is forbidden.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: doubled
right: measured
"""

import sys
import time

import torch

_times: list[float] = []


def run(x: torch.Tensor) -> torch.Tensor:
    started = time.perf_counter()
    y = x * 2
    _times.append(time.perf_counter() - started)
    if len(_times) == 1:
        sys.stdout.write(f"The first call took {_times[0]} s.\n")
    return y
