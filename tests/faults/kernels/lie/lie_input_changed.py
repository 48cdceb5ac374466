"""A call writes to its input.

needs: cpu
right: input changed
"""


def run(x):
    y = x * 2
    x.add_(1)
    return y
