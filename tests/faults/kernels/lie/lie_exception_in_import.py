"""The file raises with hostile text when it is loaded.

needs: cpu
right: build error
"""

raise ValueError("\x1b[31m\ud800\n\n" + "x" * 1_000_000)
