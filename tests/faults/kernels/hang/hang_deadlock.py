"""A call takes a lock twice.

needs: cpu
right: timeout
"""

import threading

lock = threading.Lock()


def run(x):
    lock.acquire()
    lock.acquire()
