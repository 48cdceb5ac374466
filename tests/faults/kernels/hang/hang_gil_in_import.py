"""The file sleeps in C when it is loaded, and holds Python's lock.

needs: cpu
right: timeout
"""

import ctypes

ctypes.PyDLL(None).sleep(10**6)


def run(x):
    return x * 2
