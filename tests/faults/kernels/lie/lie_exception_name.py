"""What a call raises has a hostile class name.

needs: cpu
right: launch error
"""

Named = type("\x1b[31mred\n\ud800", (Exception,), {})


def run(x):
    raise Named
