"""A result's class computes its values when they are asked for.

needs: cpu
right: not a plain tensor
"""

import torch


class Lazy(torch.Tensor):
    pass


def run(x):
    return (x * 2).as_subclass(Lazy)
