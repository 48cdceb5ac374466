"""An object of the file sleeps in its destructor, at the process's end.

needs: cpu
right: measured
"""

import time


class Slow:
    def __del__(self):
        time.sleep(1e6)


kept = Slow()


def run(x):
    return x * 2
