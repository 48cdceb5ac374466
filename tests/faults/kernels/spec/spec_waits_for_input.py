"""spec.py waits for a line of standard input.

needs: cpu
as: spec
right: left out
says: spec_waits_for_input
"""

input()
