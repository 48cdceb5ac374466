"""A call forks a child that goes into a session of its own.

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
            os.setsid()
            time.sleep(1e6)
    return x * 2
