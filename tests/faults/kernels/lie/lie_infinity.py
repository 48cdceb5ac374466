"""A result is infinite in one element.

needs: cpu
right: wrong values
"""


def run(x):
    y = x * 2
    y[-1] = float("inf")
    return y
