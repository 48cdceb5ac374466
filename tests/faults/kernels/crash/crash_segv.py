"""A call reads address 0.

needs: cpu
right: worker lost
says: SIGSEGV
"""

import ctypes


def run(x):
    return ctypes.string_at(0)
