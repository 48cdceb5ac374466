"""A result is complex.

needs: cpu
right: wrong dtype
"""


def run(x):
    return (x * 2) * 1j
