"""A call blocks every signal and loops.

needs: cpu
right: timeout
"""

import signal


def run(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True:
        pass
