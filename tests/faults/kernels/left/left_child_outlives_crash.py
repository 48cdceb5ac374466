"""A call forks a child that holds all pipes, and dies.

needs: cpu
right: worker lost
"""

import os
import time


def run(x):
    if os.fork() == 0:
        time.sleep(1e6)
    os._exit(5)
