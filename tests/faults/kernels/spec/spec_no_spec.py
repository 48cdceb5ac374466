"""spec.py defines nothing.

needs: cpu
as: spec
right: left out
says: spec_no_spec
"""

KERNEL = None
