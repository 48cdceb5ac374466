"""A call forks a hundred children that sleep.

needs: cpu
right: measured, tampered
"""

import os
import time

children = []


def run(x):
    if not children:
        for _ in range(100):
            children.append(os.fork())
            if children[-1] == 0:
                time.sleep(1e6)
    return x * 2
