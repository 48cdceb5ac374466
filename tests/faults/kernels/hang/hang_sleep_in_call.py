"""A call sleeps for eleven days.

needs: cpu
right: timeout
"""

import time


def run(x):
    time.sleep(1e6)
