"""The file closes standard output and error.

needs: cpu
right: measured
"""

import os
import sys

sys.stdout.close()
sys.stderr.close()
os.close(1)
os.close(2)


def run(x):
    return x * 2
