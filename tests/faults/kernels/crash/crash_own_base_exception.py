"""A call raises a class of its own that is no Exception.

needs: cpu
right: worker lost, launch error
"""


class Nasty(BaseException):
    pass


def run(x):
    raise Nasty("not an Exception")
