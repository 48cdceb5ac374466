"""What a call raises gives a number for its text.

needs: cpu
right: launch error
"""


class Numbered(Exception):
    def __str__(self):
        return 5  # noqa: PLE0307


def run(x):
    raise Numbered
