"""The 200th call ends the process with exit code 0.

needs: cpu
right: worker lost
says: exit code 0
"""

import os

calls = []


def run(x):
    calls.append(None)
    if len(calls) == 200:
        os._exit(0)
    return x * 2
