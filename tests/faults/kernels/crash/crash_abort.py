"""A call ends in abort().

needs: cpu
right: worker lost
says: SIGABRT
"""

import os


def run(x):
    os.abort()
