"""A call removes torch from the modules.

needs: cpu
right: measured, launch error, tampered, worker lost, internal
"""

import sys


def run(x):
    for name in list(sys.modules):
        if name.startswith("torch."):
            del sys.modules[name]
    return x * 2
