"""spec.py stops its process.

needs: cpu
as: spec
right: left out
says: spec_stops_itself
"""

import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
