"""A call starts four threads that never rest.

needs: cpu
right: measured, tampered, timeout
"""

import threading

threads = []


def spin():
    while True:
        pass


def run(x):
    while len(threads) < 4:
        threads.append(threading.Thread(target=spin))
        threads[-1].start()
    return x * 2
