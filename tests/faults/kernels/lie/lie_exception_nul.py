"""A call raises with NUL bytes.

needs: cpu
right: launch error
"""


def run(x):
    raise ValueError("before\0after")
