"""C = A B by the vendor's library: cuBLAS on a GPU, 2 m n k FLOP.

float32 means IEEE float32 as long as ``torch.backends.cuda.matmul.allow_tf32`` is off, its default.
"""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n)."""
    return torch.matmul(a, b)
