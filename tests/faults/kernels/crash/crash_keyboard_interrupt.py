"""A call raises KeyboardInterrupt, which is no Exception.

needs: cpu
right: worker lost, launch error
"""


def run(x):
    raise KeyboardInterrupt
