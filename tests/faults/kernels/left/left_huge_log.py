"""Each call prints 10 MB.

needs: cpu
right: measured, timeout, tampered
alone: yes
"""

import os

text = b"x" * 99 + b"\n"


def run(x):
    for _ in range(10):
        os.write(1, text * 10_000)
    return x * 2
