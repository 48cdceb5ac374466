"""Sliding-window attention by the FlashAttention-2 in PyTorch."""

import torch

from roofscope.kernels.attention_sliding_window.spec import WINDOW
from roofscope.kernels.shared.torch_attention import flash_with_window


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    return flash_with_window(q, k, v, window=WINDOW)
