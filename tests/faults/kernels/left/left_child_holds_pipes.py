"""A call forks a child that sleeps and holds all that was open.

needs: cpu
right: measured
"""

import os
import time

children = []


def run(x):
    if not children:
        children.append(os.fork())
        if children[0] == 0:
            time.sleep(1e6)
    return x * 2
