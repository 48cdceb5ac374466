"""A call raises an error with two thousand causes.

needs: cpu
right: launch error
"""


def run(x):
    error = ValueError("the first")
    for number in range(2000):
        following = ValueError(f"cause {number}")
        following.__cause__ = error
        error = following
    raise error
