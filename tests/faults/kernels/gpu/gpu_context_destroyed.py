"""A call destroys the device's primary context.

needs: cuda
right: device fault, worker lost, launch error, tampered
sticky: yes
"""

import torch
from cuda.bindings import driver


def run(x: torch.Tensor) -> torch.Tensor:
    driver.cuDevicePrimaryCtxReset(0)
    return x * 2
