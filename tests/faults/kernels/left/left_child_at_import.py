"""The file forks a child when it is loaded.

needs: cpu
right: measured
"""

import os
import time

if os.fork() == 0:
    time.sleep(1e6)


def run(x):
    return x * 2
