"""The file opens files until there is no descriptor left.

needs: cpu
right: measured, launch error, worker lost, tampered, build error
"""

import os
import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
opened = []
try:
    while True:
        opened.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass


def run(x):
    return x * 2
