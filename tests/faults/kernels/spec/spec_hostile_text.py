"""spec.py raises with sequences for a terminal and a text that no encoding takes.

needs: cpu
as: spec
right: left out
says: spec_hostile_text
"""

raise ValueError("\x1b]0;owned\x07\x1b[31m \ud800\nnext line\r" + "x" * 100_000)
