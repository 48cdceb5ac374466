"""A call sleeps in C and holds Python's lock meanwhile.

needs: cpu
right: timeout
"""

import ctypes


def run(x):
    ctypes.PyDLL(None).sleep(10**6)
