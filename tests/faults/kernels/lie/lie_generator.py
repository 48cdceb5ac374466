"""A call returns a generator that never ends.

needs: cpu
right: wrong shape, timeout
"""


def run(x):
    while True:
        yield x * 2
