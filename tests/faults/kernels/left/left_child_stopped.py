"""A call forks a child that stops itself.

needs: cpu
right: measured
"""

import os
import signal

children = []


def run(x):
    if not children:
        children.append(os.fork())
        if children[0] == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            os._exit(0)
    return x * 2
