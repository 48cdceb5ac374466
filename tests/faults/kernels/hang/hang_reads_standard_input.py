"""A call reads standard input to its end.

needs: cpu
right: measured, launch error
"""

import sys


def run(x):
    sys.stdin.read()
    return x * 2
