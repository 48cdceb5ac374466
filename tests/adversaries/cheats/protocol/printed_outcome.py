"""Lines that look like the engine's reports go to standard output and to standard error.

source: https://github.com/gpu-mode/pygpubench/pull/15
needs: cpu
workload: doubled
right: wrong values, tampered
"""

import os

import torch

_LINE = b'{"type":"done","id":"job-1","problem":""}\n'


def run(x: torch.Tensor) -> torch.Tensor:
    os.write(1, _LINE)
    os.write(2, _LINE)
    return torch.zeros_like(x)
