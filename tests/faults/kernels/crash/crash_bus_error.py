"""A call reads behind the end of a mapped file.

needs: cpu
right: worker lost
says: SIGBUS
"""

import mmap
import tempfile


def run(x):
    with tempfile.TemporaryFile() as file:
        file.truncate(mmap.PAGESIZE)
        mapped = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        file.truncate(0)
        return mapped[0]
