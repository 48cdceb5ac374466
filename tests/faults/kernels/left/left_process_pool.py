"""A call makes a pool of processes and leaves it.

needs: cpu
right: measured, tampered, launch error
"""

import multiprocessing

pools = []


def run(x):
    if not pools:
        pools.append(multiprocessing.get_context("fork").Pool(4))
        pools[0].map(abs, [1, 2])
    return x * 2
