"""A call takes memory without end, under a limit of its own.

needs: cpu
right: out of memory, launch error, worker lost
"""

import resource
from pathlib import Path


def run(x):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))
    eaten = []
    while True:
        eaten.append(bytearray(2**24))
