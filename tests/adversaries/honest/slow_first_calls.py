"""The first calls are slow, as an autotuner's are.

source: https://github.com/gpu-mode/pygpubench/pull/7
needs: cpu
workload: doubled
right: measured
"""

import itertools
import time

import torch

_count = itertools.count()


def run(x: torch.Tensor) -> torch.Tensor:
    if next(_count) < 3:
        time.sleep(0.05)
    return x * 2
