"""A call forks a child into a session of its own, and dies.

needs: cpu
right: worker lost
"""

import os
import time


def run(x):
    if os.fork() == 0:
        os.setsid()
        time.sleep(1e6)
    os._exit(5)
