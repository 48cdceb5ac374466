"""A call makes a daemon: two forks, a session of its own, descriptors closed.

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
            if os.fork() == 0:
                os.closerange(0, 1000)
                time.sleep(1e6)
            os._exit(0)
        os.waitpid(children[0], 0)
    return x * 2
