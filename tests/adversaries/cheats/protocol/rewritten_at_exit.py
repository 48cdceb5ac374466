"""What is done at exit rewrites each file that is still open.

source: https://github.com/gpu-mode/pygpubench/pull/15
needs: cpu
workload: doubled
right: wrong values, tampered
"""

import atexit
import contextlib
import os
from pathlib import Path

import torch


def _rewrite() -> None:
    for file in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if "(deleted)" in str(file.readlink()):
                os.pwrite(int(file.name), b"0", 0)


atexit.register(_rewrite)


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)
