"""A call is killed as Linux kills what eats memory.

needs: cpu
right: worker lost
says: SIGKILL
"""

import os
import signal


def run(x):
    os.kill(os.getpid(), signal.SIGKILL)
