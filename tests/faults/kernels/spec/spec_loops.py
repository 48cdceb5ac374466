"""spec.py loops without end.

needs: cpu
as: spec
right: left out
says: spec_loops
"""

while True:
    pass
