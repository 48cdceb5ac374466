"""A call raises an error that is its own cause.

needs: cpu
right: launch error
"""


def run(x):
    first, second = ValueError("one"), ValueError("two")
    first.__cause__, second.__cause__ = second, first
    raise first
