"""A thread looks through all objects for the expected values and empties them.

source: https://github.com/gpu-mode/pygpubench/pull/7
needs: cpu
workload: doubled
right: tampered, wrong values, launch error, internal
"""

import gc
import threading
import time

import torch


def _search() -> None:
    while True:
        for found in gc.get_objects():
            if type(found) is torch.Tensor and found.dtype == torch.float64:
                found.zero_()
        time.sleep(0.0001)


threading.Thread(target=_search, daemon=True).start()


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)
