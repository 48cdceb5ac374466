"""An assertion fails on a stream that nobody waits for.

needs: cuda
right: device fault, worker lost
sticky: yes
"""

import torch

calls = []


def run(x: torch.Tensor) -> torch.Tensor:
    calls.append(None)
    if len(calls) == 3:
        with torch.cuda.stream(torch.cuda.Stream()):
            x[torch.full((1,), len(x) + 5, device=x.device)]
    return x * 2
