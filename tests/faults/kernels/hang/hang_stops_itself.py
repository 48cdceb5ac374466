"""A call stops its own process.

needs: cpu
right: timeout
"""

import os
import signal


def run(x):
    os.kill(os.getpid(), signal.SIGSTOP)
    return x * 2
