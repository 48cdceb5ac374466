"""GELU by PyTorch's single operators, as its formula is read.

Lesson: eight operators are eight kernels, each of which reads and writes the whole of x. One call of
``gelu`` moves an eighth of these bytes, and so does torch.compile of these lines.
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (n,)."""
    return 0.5 * x * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))
