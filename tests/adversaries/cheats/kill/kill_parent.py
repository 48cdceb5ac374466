"""The parent, which would report the result, is killed; no work is done.

source: https://github.com/gpu-mode/pygpubench/pull/15
needs: cpu
workload: doubled
right: worker lost, tampered, wrong values
says: kill
"""

import os
import signal
from pathlib import Path

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    parent = os.getppid()
    if b"main.py" in Path(f"/proc/{parent}/cmdline").read_bytes():  # nobody but the judge
        os.kill(parent, signal.SIGKILL)
    return torch.zeros_like(x)
