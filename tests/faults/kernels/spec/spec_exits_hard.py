"""spec.py ends the process at once.

needs: cpu
as: spec
right: left out
says: spec_exits_hard
"""

import os

os._exit(0)
