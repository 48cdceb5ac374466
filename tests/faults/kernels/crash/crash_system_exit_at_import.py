"""The file raises SystemExit when it is loaded.

needs: cpu
right: worker lost, build error
"""

raise SystemExit("not today")
