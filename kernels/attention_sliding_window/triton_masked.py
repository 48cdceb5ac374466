"""Sliding-window attention in Triton as a causal kernel with one comparison more: it skips no old keys.

Formula, mapping and idea: shared/split_attention.py, with every block up to the diagonal taken in and masked.
Idea: `cuda_naive` multiplies a query by a key at a time; tiles of both make products of matrices of that.
Lesson: what is masked costs as much as what is seen. A sequence of 8192 takes four times as long as it must.
"""

import torch

from roofscope.kernels.attention_sliding_window.spec import WINDOW
from roofscope.kernels.shared.split_attention import attend_in_parts

DOMAIN = "(dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256) and seq <= 2**31 // dim - 128"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    sharing = q.shape[1] // max(k.shape[1], 1)
    return attend_in_parts(q, k, v, causal=True, sharing=sharing, window=WINDOW, skips=False)[0]
