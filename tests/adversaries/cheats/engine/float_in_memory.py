"""The tolerance, a float, is overwritten through /proc/self/mem; no work is done.

source: https://github.com/gpu-mode/pygpubench, exploits/
needs: cpu
workload: doubled
right: tampered, wrong values
says: tolerance, memory
"""

import gc
import struct
from pathlib import Path

import torch

_VALUE = 16  # where a float of CPython holds its value

for _found in gc.get_objects():
    if type(_found).__name__ == "Verifier":
        with Path("/proc/self/mem").open("r+b") as _memory:
            _memory.seek(id(_found._tolerance) + _VALUE)
            _memory.write(struct.pack("d", 1e9))


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)
