"""A call ends the process with exit code 7.

needs: cpu
right: worker lost
says: exit code 7
"""

import os


def run(x):
    os._exit(7)
