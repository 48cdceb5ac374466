"""A call loops without end.

needs: cpu
right: timeout
"""


def run(x):
    while True:
        pass
