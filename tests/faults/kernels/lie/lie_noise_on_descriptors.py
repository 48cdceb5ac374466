"""A call writes noise to every descriptor.

needs: cpu
right: measured, worker lost, tampered, launch error
"""

import contextlib
import os


def run(x):
    for descriptor in range(1, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\xff\0[[[[" * 1000)
    return x * 2
