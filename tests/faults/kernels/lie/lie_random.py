"""A result is never the same twice.

needs: cpu
right: wrong values
"""

import torch


def run(x):
    return torch.rand_like(x)
