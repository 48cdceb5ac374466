"""A call raises with a hundred thousand lines.

needs: cpu
right: launch error
says: first line
"""


def run(x):
    raise ValueError("first line\n" + "and another\n" * 100_000)
