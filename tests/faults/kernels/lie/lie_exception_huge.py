"""A call raises with a text of 50 MB.

needs: cpu
right: launch error
"""


def run(x):
    raise ValueError("x" * 50_000_000)
