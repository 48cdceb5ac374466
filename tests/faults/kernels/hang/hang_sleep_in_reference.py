"""The reference sleeps without end.

needs: cpu
right: timeout, internal
as: reference
"""

import time


def run(x):
    time.sleep(1e6)
