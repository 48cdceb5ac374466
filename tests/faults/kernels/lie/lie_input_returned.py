"""A call doubles its input in place and returns it.

needs: cpu
right: input changed, aliased output
"""


def run(x):
    return x.mul_(2)
