"""A call raises a group of groups of errors.

needs: cpu
right: launch error
"""


def run(x):
    group = ValueError("within")
    for number in range(50):
        group = ExceptionGroup(f"group {number}", [group])
    raise group
