"""A result is wrong at sizes that are no multiple of eight.

needs: cpu
right: wrong values
"""


def run(x):
    y = x * 2
    y[len(x) // 8 * 8 :] = 0
    return y
