"""The reference sleeps in C and holds Python's lock.

needs: cpu
right: timeout, internal
as: reference
"""

import ctypes


def run(x):
    ctypes.PyDLL(None).sleep(10**6)
