"""A result has 100 million elements.

needs: cpu
right: wrong shape, out of memory
"""

import torch


def run(x):
    return torch.zeros(10**8)
