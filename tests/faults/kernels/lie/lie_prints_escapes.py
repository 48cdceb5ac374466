"""A call prints sequences that retitle a terminal, and then crashes, so that its log is shown.

needs: cpu
right: worker lost
"""

import os


def run(x):
    os.write(2, b"\x1b]0;owned\x07\x1b[31mlast words\xff\xfe\n")
    os.abort()
