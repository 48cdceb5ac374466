"""A call waits for a child that sleeps.

needs: cpu
right: timeout
"""

import subprocess


def run(x):
    subprocess.run(["sleep", "1000000"], check=False)
    return x * 2
