"""A call raises with an empty text.

needs: cpu
right: launch error
says: ValueError
"""


def run(x):
    raise ValueError("")
