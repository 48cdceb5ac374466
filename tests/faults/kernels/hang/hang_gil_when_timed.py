"""The 200th call sleeps in C and holds Python's lock.

needs: cpu
right: timeout
"""

import ctypes

calls = []


def run(x):
    calls.append(None)
    if len(calls) == 200:
        ctypes.PyDLL(None).sleep(10**6)
    return x * 2
