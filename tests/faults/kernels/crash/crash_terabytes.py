"""A call asks torch for 100 TB at once.

needs: cpu
right: out of memory, launch error
"""

import torch


def run(x):
    return torch.empty(10**14, dtype=torch.uint8)
