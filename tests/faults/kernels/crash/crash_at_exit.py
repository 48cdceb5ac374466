"""What is registered for the interpreter's end aborts there.

needs: cpu
right: measured
"""

import atexit
import os

atexit.register(os.abort)


def run(x):
    return x * 2
