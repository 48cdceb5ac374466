"""Quotients by a multiplication and a shift, where a division would be most of a thread's instructions.

Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994.
"""

NUMBERS = 2**31  # whose quotients are right, those below


def division(by: int) -> tuple[int, int, int]:
    """What ``Division`` of ``division.cuh`` takes: divisor, multiplier, which is below 2^32, and shift."""
    shift = 31 + (by - 1).bit_length()
    return by, 2**shift // by + 1, shift
