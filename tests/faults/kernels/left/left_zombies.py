"""A call leaves children that ended and nobody waited for.

needs: cpu
right: measured
"""

import os

children = []


def run(x):
    if len(children) < 20:
        children.append(os.fork())
        if children[-1] == 0:
            os._exit(0)
    return x * 2
