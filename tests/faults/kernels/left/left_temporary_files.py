"""A call leaves a hundred files in the temporary folder.

needs: cpu
right: measured
"""

import tempfile

names = []


def run(x):
    if not names:
        for _ in range(100):
            with tempfile.NamedTemporaryFile(delete=False) as file:
                file.write(b"left")
                names.append(file.name)
    return x * 2
