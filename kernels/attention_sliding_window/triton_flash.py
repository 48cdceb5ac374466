"""Sliding-window attention in Triton, block by block of the keys that some query of a block sees.

Formula, mapping and idea: shared/split_attention.py. 4 dim FLOP a pair of query and key that is seen.
Idea: `triton_masked` takes in every block up to the diagonal; blocks that have left every query's window are
skipped here, and only those at both ends of it are masked.
"""

import torch

from roofscope.kernels.attention_sliding_window.spec import WINDOW
from roofscope.kernels.shared.split_attention import attend_in_parts

DOMAIN = "(dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256) and seq <= 2**31 // dim - 128"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    sharing = q.shape[1] // max(k.shape[1], 1)
    return attend_in_parts(q, k, v, causal=True, sharing=sharing, window=WINDOW)[0]
