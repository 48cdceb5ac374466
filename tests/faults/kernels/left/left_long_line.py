"""A call prints 64 MB without a newline, on both streams.

needs: cpu
right: measured, timeout
alone: yes
"""

import os

calls = []


def run(x):
    if not calls:
        calls.append(None)
        for descriptor in (1, 2):
            for _ in range(64):
                os.write(descriptor, b"x" * 2**20)
    return x * 2
