"""A call returns a generator that never ends.

needs: cpu
right: wrong shape, timeout
"""


def run(x):
    y = x * 2
    while True:
        yield y
