"""A call waits for a thread that never ends.

needs: cpu
right: timeout
"""

import threading


def run(x):
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    thread.join()
