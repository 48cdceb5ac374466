"""A call forks children that fork, up to 64 processes.

needs: cpu
right: measured, tampered
"""

import os
import time

children = []


def run(x):
    if not children:
        children.append(os.fork())
        if children[0] == 0:
            for _ in range(5):
                os.fork()
            time.sleep(1e6)
    return x * 2
