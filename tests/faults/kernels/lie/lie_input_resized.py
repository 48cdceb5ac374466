"""A call gives its input's memory back.

needs: cpu
right: input changed, launch error, worker lost, wrong values, internal
"""


def run(x):
    y = x * 2
    x.untyped_storage().resize_(0)
    return y
