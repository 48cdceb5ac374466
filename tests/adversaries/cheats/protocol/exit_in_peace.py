"""The process ends with exit code 0 before anything is checked.

source: https://github.com/gpu-mode/pygpubench/pull/15
needs: cpu
workload: doubled
right: worker lost, tampered
says: exit, ended
"""

import os

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    os._exit(0)
