"""The reference's file loops when it is loaded.

needs: cpu
right: timeout, build error, internal
as: reference
"""

while True:
    pass
