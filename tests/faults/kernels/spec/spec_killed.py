"""spec.py kills its process.

needs: cpu
as: spec
right: left out
says: spec_killed
"""

import os
import signal

os.kill(os.getpid(), signal.SIGKILL)
