"""A call returns ten thousand tensors.

needs: cpu
right: wrong shape, timeout
"""


def run(x):
    return tuple(x * 2 for _ in range(10_000))
