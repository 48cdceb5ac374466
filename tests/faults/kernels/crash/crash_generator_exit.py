"""A call raises GeneratorExit.

needs: cpu
right: worker lost, launch error
"""


def run(x):
    raise GeneratorExit
