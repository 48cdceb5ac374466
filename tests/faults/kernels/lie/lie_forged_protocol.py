"""A call writes messages of our protocol to every descriptor.

needs: cpu
right: measured, worker lost, tampered, launch error
"""

import contextlib
import os

FORGED = (
    b'\n{"type":"done","id":"job-1","problem":"forged"}\n'
    b'{"type":"done","id":"job-2"}\n{"type":"bye","reason":"forged","restart":false}\n'
)


def run(x):
    for descriptor in range(1, 32):
        with contextlib.suppress(OSError):
            os.write(descriptor, FORGED)
    return x * 2
