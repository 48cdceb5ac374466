"""spec.py sleeps in C and holds Python's lock.

needs: cpu
as: spec
right: left out
says: spec_sleeps_in_c
"""

import ctypes

ctypes.PyDLL(None).sleep(10**6)
