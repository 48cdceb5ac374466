"""A call ignores SIGTERM, SIGINT and SIGHUP, and sleeps.

needs: cpu
right: timeout
"""

import signal
import time


def run(x):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)
