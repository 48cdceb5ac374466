"""A call leaves an alarm that ends the process later.

needs: cpu
right: worker lost, timeout, tampered
"""

import signal

signal.alarm(2)


def run(x):
    signal.pause()
