"""What a call raises has a hostile class name.

needs: cpu
right: launch error
"""

Named = type("\x1b[31mred\nand another line", (Exception,), {})


def run(x):
    raise Named
