"""spec.py reads address 0.

needs: cpu
as: spec
right: left out
says: spec_segv
"""

import ctypes

ctypes.string_at(0)
