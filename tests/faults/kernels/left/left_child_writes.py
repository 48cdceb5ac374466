"""A call forks a child that writes to its output without end.

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
            while True:
                os.write(1, b"still here\n" * 100)
                time.sleep(0.001)
    return x * 2
