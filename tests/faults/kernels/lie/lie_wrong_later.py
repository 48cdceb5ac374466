"""The 200th result is wrong, and all after it.

needs: cpu
right: wrong values
"""

calls = []


def run(x):
    calls.append(None)
    return x * 2 if len(calls) < 200 else x * 3
