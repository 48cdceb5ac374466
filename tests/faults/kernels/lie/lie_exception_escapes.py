"""A call raises with sequences that colour, move and retitle a terminal.

needs: cpu
right: launch error
says: colours
"""


def run(x):
    raise ValueError(
        "\x1b[2J\x1b]0;owned\x07\x1b[31mcolours\x1b[0m \x9b31m \u202ereversed \b\b\b\r overwritten"
    )
