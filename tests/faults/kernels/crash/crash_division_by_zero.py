"""A call raises SIGFPE, as an integer division in C does.

needs: cpu
right: worker lost
says: SIGFPE
"""

import signal


def run(x):
    signal.raise_signal(signal.SIGFPE)
