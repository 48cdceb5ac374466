"""spec.py computes a number with ten billion digits.

needs: cpu
as: spec
right: left out
says: spec_great_power
"""

SPEC = 10**10**10
