"""A thread of the file takes Python's lock a second after the import, and keeps it.

needs: cpu
right: timeout, measured, tampered, worker lost
"""

import ctypes
import threading
import time


def hold():
    time.sleep(1)
    ctypes.PyDLL(None).sleep(10**6)


threading.Thread(target=hold, daemon=True).start()


def run(x):
    return x * 2
