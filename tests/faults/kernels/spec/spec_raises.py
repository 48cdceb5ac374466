"""spec.py raises what is no Exception.

needs: cpu
as: spec
right: left out
says: spec_raises
"""

raise KeyboardInterrupt
