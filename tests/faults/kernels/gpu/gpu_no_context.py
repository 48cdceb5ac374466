"""A call takes the current context away.

needs: cuda
right: device fault, worker lost, launch error, tampered, measured
"""

import torch
from cuda.bindings import driver


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    driver.cuCtxSetCurrent(None)
    return y
