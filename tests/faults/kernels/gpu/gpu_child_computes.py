"""A call starts a program that keeps the device busy.

needs: cuda
right: measured, tampered, wrong values, not settled
"""

import subprocess
import sys

import torch

CODE = "import torch\nx = torch.ones(4096, 4096, device='cuda')\nwhile True: (x @ x).sum().item()"
started = []


def run(x: torch.Tensor) -> torch.Tensor:
    if not started:
        started.append(subprocess.Popen([sys.executable, "-c", CODE]))
    return x * 2
