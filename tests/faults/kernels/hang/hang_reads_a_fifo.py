"""A call opens a FIFO that nobody writes to.

needs: cpu
right: timeout
"""

import os
import tempfile


def run(x):
    path = tempfile.mktemp()
    os.mkfifo(path)
    with open(path) as file:
        file.read()
