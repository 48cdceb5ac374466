"""The interpreter ends itself with a fatal error.

needs: cpu
right: worker lost
"""

import ctypes


def run(x):
    ctypes.pythonapi.Py_FatalError(b"planted")
