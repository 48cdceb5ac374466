"""A result lies on a device without memory.

needs: cpu
right: not a plain tensor, wrong shape, wrong dtype, wrong values, launch error
"""


def run(x):
    return (x * 2).to("meta")
