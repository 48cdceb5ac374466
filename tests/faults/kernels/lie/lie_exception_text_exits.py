"""What a call raises ends the process when it is printed.

needs: cpu
right: worker lost, launch error
"""

import os


class Deadly(Exception):
    def __str__(self):  # noqa: PLE0307
        os._exit(4)


def run(x):
    raise Deadly
