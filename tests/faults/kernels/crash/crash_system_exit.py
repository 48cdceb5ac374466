"""A call raises SystemExit, as sys.exit does.

needs: cpu
right: worker lost, launch error
"""

import sys


def run(x):
    sys.exit(3)
