"""spec.py forks a child that sleeps, and defines nothing.

needs: cpu
as: spec
right: left out
says: spec_leaves_a_child
"""

import os
import time

if os.fork() == 0:
    time.sleep(1e6)
