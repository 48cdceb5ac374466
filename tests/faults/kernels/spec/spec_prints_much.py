"""spec.py prints 64 MB with sequences for a terminal, and defines nothing.

needs: cpu
as: spec
right: left out
says: spec_prints_much
"""

import os

for _ in range(64):
    os.write(1, b"\x1b[31m" + b"x" * 2**20)
    os.write(2, b"\x1b[31m" + b"x" * 1000)
