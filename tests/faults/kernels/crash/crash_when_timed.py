"""The 200th call ends in a segmentation fault: it is past all verification.

needs: cpu
right: worker lost
says: SIGSEGV
"""

import ctypes

calls = []


def run(x):
    calls.append(None)
    if len(calls) == 200:
        ctypes.string_at(0)
    return x * 2
