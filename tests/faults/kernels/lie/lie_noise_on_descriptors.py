"""A call writes noise to every descriptor.

needs: cpu
right: measured, worker lost, tampered, launch error
"""

import os


def run(x):
    for descriptor in range(1, 64):
        try:
            os.write(descriptor, b"\xff\0[[[[" * 1000)
        except OSError:
            pass
    return x * 2
