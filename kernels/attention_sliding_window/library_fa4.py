"""Sliding-window attention by FlashAttention-4."""

import torch

from roofscope.kernels.attention_sliding_window.spec import WINDOW
from roofscope.kernels.shared.fa4 import attend

DOMAIN = "dim % 8 == 0 and dim <= 256"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    return attend(q, k, v, causal=True, window=WINDOW)
