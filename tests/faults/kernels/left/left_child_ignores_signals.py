"""A call forks a child that ignores all signals it may, and spins.

needs: cpu
right: measured, tampered
"""

import os
import signal
import time

children = []


def run(x):
    if not children:
        children.append(os.fork())
        if children[0] == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
            while True:
                time.sleep(0.001)
    return x * 2
