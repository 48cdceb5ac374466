"""A call makes a second context and leaves it current.

needs: cuda
right: device fault, worker lost, launch error, tampered, measured, wrong values
"""

import torch
from cuda.bindings import driver


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    for arguments in ((None, 0, 0), (0, 0)):  # by the version of the bindings
        try:
            driver.cuCtxCreate(*arguments)
            break
        except TypeError:
            continue
    return y
