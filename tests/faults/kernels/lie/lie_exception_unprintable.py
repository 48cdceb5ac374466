"""What a call raises cannot be printed.

needs: cpu
right: launch error
"""


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("nor this")

    __repr__ = __str__


def run(x):
    raise Unprintable
