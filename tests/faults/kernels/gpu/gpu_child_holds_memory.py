"""A call starts a program that holds memory of the device.

needs: cuda
right: measured, tampered
"""

import subprocess
import sys

import torch

CODE = "import time, torch; x = torch.empty(2**30, device='cuda'); time.sleep(1e6)"
started = []


def run(x: torch.Tensor) -> torch.Tensor:
    if not started:
        started.append(subprocess.Popen([sys.executable, "-c", CODE], start_new_session=True))
    return x * 2
