"""A call waits for a line of standard input.

needs: cpu
right: launch error, timeout
"""


def run(x):
    return x * float(input())
