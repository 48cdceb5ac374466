"""Quotients by a multiplication: those of shared/division.py, which division.cuh takes."""

from hypothesis import given
from hypothesis import strategies as st

from roofscope.kernels.shared.division import NUMBERS, division


@given(st.integers(1, NUMBERS - 1), st.integers(0, NUMBERS - 1))
def test_quotients_are_those_of_a_division(by: int, number: int) -> None:
    divisor, multiplier, shift = division(by)
    assert divisor == by
    assert multiplier < 2**32
    whole = number // by * by
    for near in {number, whole, max(whole - 1, 0), NUMBERS - 1}:
        assert near * multiplier < 2**64
        assert near * multiplier >> shift == near // by
        # As division.cuh has it, in 32 bits.
        assert 2 * near < 2**32
        assert (2 * near * multiplier >> 32) >> (shift - 31) == near // by
