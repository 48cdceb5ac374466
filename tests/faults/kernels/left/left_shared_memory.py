"""A call makes shared memory, with the process that watches it, and leaves both.

needs: cpu
right: measured, tampered
"""

from multiprocessing import shared_memory

kept = []


def run(x):
    if not kept:
        kept.append(shared_memory.SharedMemory(create=True, size=4096))
    return x * 2
