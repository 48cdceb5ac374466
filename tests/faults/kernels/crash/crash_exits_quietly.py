"""A call ends the process with exit code 0, as if all were well.

needs: cpu
right: worker lost
says: exit code 0
"""

import os


def run(x):
    os._exit(0)
