"""A call frees the same memory twice.

needs: cpu
right: worker lost
"""

import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


def run(x):
    address = libc.malloc(64)
    libc.free(address)
    libc.free(address)
    return x * 2
