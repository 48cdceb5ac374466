"""Each call takes three seconds, which is long and not endless.

needs: cpu
right: measured, timeout
alone: yes
"""

import time


def run(x):
    time.sleep(3)
    return x * 2
