"""A call opens a FIFO that nobody writes to.

needs: cpu
right: timeout
"""

import os
import tempfile
from pathlib import Path


def run(x):
    path = Path(tempfile.mkdtemp(), "pipe")
    os.mkfifo(path)
    return path.read_text()
