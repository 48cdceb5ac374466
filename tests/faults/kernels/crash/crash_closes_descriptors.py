"""A call closes every descriptor from 0 to 1000.

needs: cpu
right: worker lost, launch error, tampered
"""

import os


def run(x):
    os.closerange(0, 1000)
    return x * 2
