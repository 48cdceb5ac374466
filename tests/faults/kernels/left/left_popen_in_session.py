"""A call starts a program that sleeps, in a session of its own.

needs: cpu
right: measured
"""

import subprocess

started = []


def run(x):
    if not started:
        started.append(subprocess.Popen(["sleep", "1000000"], start_new_session=True))
    return x * 2
