"""A call raises SIGILL, as code for another processor does.

needs: cpu
right: worker lost
says: SIGILL
"""

import signal


def run(x):
    signal.raise_signal(signal.SIGILL)
