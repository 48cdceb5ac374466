"""A result has another data type.

needs: cpu
right: wrong dtype
"""


def run(x):
    return (x * 2).double()
