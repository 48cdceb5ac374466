"""An index is out of range: torch asserts on the device.

needs: cuda
right: device fault, worker lost
sticky: yes
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return x[torch.full((1,), len(x) + 5, device=x.device)] * 2
