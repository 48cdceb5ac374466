"""A call raises with a text that no encoding takes.

needs: cpu
right: launch error
"""


def run(x):
    raise ValueError("lone \ud800 and \udcff surrogates")
