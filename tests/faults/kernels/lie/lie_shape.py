"""A result has one element less.

needs: cpu
right: wrong shape
"""


def run(x):
    return (x * 2)[:-1].clone()
