"""Two nested loops over one small operation, as Python runs them: four launches a turn.

Lesson: each turn reads and writes the whole vector. torch.compile unrolls both loops into one kernel, and
takes long to do it; a kernel with the loops inside keeps y in a register.
"""

import torch


def run(x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Of ``x``, (n,), and ``steps``, (outer, inner). Gives (n,)."""
    outer, inner = steps.shape
    y = torch.zeros_like(x)
    for i in range(outer):
        for j in range(inner):
            y = y * 0.5 + x * steps[i, j]
    return y
