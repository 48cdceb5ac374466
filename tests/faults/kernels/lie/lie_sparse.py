"""A result is a sparse tensor.

needs: cpu
right: not a plain tensor, wrong shape, launch error, aliased output
"""


def run(x):
    return (x * 2).to_sparse()
