"""A call opens five hundred files and never closes them.

needs: cpu
right: measured, launch error
"""

import os

opened = []


def run(x):
    while len(opened) < 500:
        opened.append(os.open(os.devnull, os.O_RDONLY))
    return x * 2
