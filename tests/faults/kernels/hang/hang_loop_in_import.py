"""The file loops when it is loaded.

needs: cpu
right: timeout
"""

while True:
    pass
