"""spec.py takes memory without end, up to 3 GB.

needs: cpu
as: spec
right: left out
says: spec_eats_memory
"""

eaten = [bytearray(2**24) for _ in range(192)]
raise MemoryError
