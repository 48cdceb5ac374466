"""The 200th call sleeps without end: it is past all verification.

needs: cpu
right: timeout
"""

import time

calls = []


def run(x):
    calls.append(None)
    if len(calls) == 200:
        time.sleep(1e6)
    return x * 2
