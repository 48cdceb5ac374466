"""A call gives the process one second of processor time, and uses it up.

needs: cpu
right: worker lost
"""

import resource

resource.setrlimit(resource.RLIMIT_CPU, (1, 2))


def run(x):
    while True:
        x = x + 1
