"""A call starts three hundred threads that wait.

needs: cpu
right: measured, tampered, launch error
"""

import threading

threads = []


def run(x):
    while len(threads) < 300:
        threads.append(threading.Thread(target=threading.Event().wait))
        threads[-1].start()
    return x * 2
