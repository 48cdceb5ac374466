"""A forked child writes the result into shared memory after the call has returned.

source: https://github.com/meta-pytorch/BackendBench/issues/41
needs: cpu
workload: doubled
right: wrong values, tampered, worker lost, launch error
"""

import os
import time

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(x.shape, dtype=x.dtype).share_memory_()
    source = x.cpu()
    if os.fork() == 0:
        time.sleep(0.005)
        y.numpy()[:] = source.numpy() * 2
        os._exit(0)
    return y.to(x.device)
