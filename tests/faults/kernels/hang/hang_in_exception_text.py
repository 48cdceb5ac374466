"""The text of what a call raises is computed without end.

needs: cpu
right: timeout, worker lost, launch error
"""


class Endless(Exception):
    def __str__(self):  # noqa: PLE0307
        while True:
            pass


def run(x):
    raise Endless
