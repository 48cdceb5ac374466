"""spec.py ends the process in order.

needs: cpu
as: spec
right: left out
says: spec_exits
"""

import sys

sys.exit(0)
