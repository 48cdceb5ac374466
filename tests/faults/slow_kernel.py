"""Twice the input, 50 ms a call."""

import time


def run(x):
    time.sleep(0.05)
    return x * 2
