"""A call takes memory without end, under a limit of its own.

needs: cpu
right: out of memory, launch error, worker lost
"""

import resource


def run(x):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))
    eaten = []
    while True:
        eaten.append(bytearray(2**24))
