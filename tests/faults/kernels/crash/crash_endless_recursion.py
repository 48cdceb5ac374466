"""A call calls itself without end.

needs: cpu
right: launch error
says: recursion
"""


def run(x):
    return run(x)
