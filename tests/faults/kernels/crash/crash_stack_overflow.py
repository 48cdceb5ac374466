"""A call overflows the C stack, by a comparison that sorts.

needs: cpu
right: worker lost, launch error
"""

import ctypes
import sys

libc = ctypes.CDLL(None)
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
sys.setrecursionlimit(10**7)


@Compare
def compare(_a, _b):
    libc.qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare)
    return 0


def run(x):
    return compare(None, None)
