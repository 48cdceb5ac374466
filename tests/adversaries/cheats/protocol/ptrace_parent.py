"""The parent is attached to by ptrace and its memory is opened; no work is done.

source: https://github.com/gpu-mode/pygpubench, exploits/
needs: cpu
workload: doubled
right: wrong values, tampered
"""

import contextlib
import ctypes
import os
from pathlib import Path

import torch

_ATTACH, _DETACH = 16, 17


def _attach() -> None:
    libc, parent = ctypes.CDLL(None), os.getppid()
    if libc.ptrace(_ATTACH, parent, 0, 0) == 0:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(parent, 0)
        with contextlib.suppress(OSError), Path(f"/proc/{parent}/mem").open("r+b"):
            pass
        libc.ptrace(_DETACH, parent, 0, 0)


_attach()


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)
