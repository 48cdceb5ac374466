"""What is registered for the interpreter's end sleeps there.

needs: cpu
right: measured
"""

import atexit
import time

atexit.register(time.sleep, 1e6)


def run(x):
    return x * 2
