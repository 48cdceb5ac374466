"""The reference starts a program that sleeps.

needs: cpu
right: measured
as: reference
"""

import subprocess

started = []


def run(x):
    if not started:
        started.append(subprocess.Popen(["sleep", "1000000"]))
    return x * 2
