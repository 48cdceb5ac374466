"""A call returns text.

needs: cpu
right: wrong shape
"""


def run(x):
    return "2x"
