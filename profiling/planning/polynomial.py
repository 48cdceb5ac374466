"""Finds the formula that a whole number follows over the sizes of a kernel, from values at a grid of sizes.

What a kernel computes and moves is nearly always a polynomial of its axes, of a low degree in each.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from math import lcm

CHECK = 5  # the step at which a formula is held against one more value
MOST_AXES = 4

Steps = tuple[int, ...]


def steps_of(axes: int) -> tuple[int, ...]:
    """Of each axis' size, one more than the degree: multiples keep what the size divides by."""
    return (1, 2, 3, 4) if axes < 3 else (1, 2, 3)


def grid(axes: int) -> list[Steps]:
    """The steps at which a value is needed; the last ones are for the check."""
    return [*product(steps_of(axes), repeat=axes), (CHECK,) * axes]


def at_steps(sizes: Mapping[str, int], steps: Steps) -> dict[str, int]:
    return {name: size * step for (name, size), step in zip(sizes.items(), steps, strict=True)}


def fitted(sizes: Mapping[str, int], value_at: Callable[[Steps], int]) -> str | None:
    """The polynomial as a formula over the axes, such as ``2*m*n*k``; None where there is none.

    ``value_at`` gives the value at each of the ``grid``'s steps.
    """
    if any(size < 1 for size in sizes.values()):
        return None
    *points, check = grid(len(sizes))
    factors = {steps: Fraction(value_at(steps)) for steps in points}
    for axis, size in enumerate(sizes.values()):
        factors = _along(factors, axis, [size * step for step in steps_of(len(sizes))])
    terms = {powers: factor for powers, factor in factors.items() if factor}
    if _value(terms, [size * CHECK for size in sizes.values()]) != value_at(check):
        return None
    return _text(terms, list(sizes))


def _along(values: Mapping[Steps, Fraction], axis: int, sizes: list[int]) -> dict[Steps, Fraction]:
    """Values at the steps of one axis become the factors of its powers."""
    steps = steps_of(len(next(iter(values))))
    found: dict[Steps, Fraction] = {}
    for at in values:
        if at[axis] == steps[0]:
            row = [values[(*at[:axis], step, *at[axis + 1 :])] for step in steps]
            for power, factor in enumerate(_interpolated(sizes, row)):
                found[*at[:axis], power, *at[axis + 1 :]] = factor
    return found


def _interpolated(sizes: list[int], values: list[Fraction]) -> list[Fraction]:
    """The factors of the powers 0, 1, ... of the polynomial through these points, by Newton's form."""
    differences = [*values]
    for order in range(1, len(sizes)):
        for place in range(len(sizes) - 1, order - 1, -1):
            width = sizes[place] - sizes[place - order]
            differences[place] = (differences[place] - differences[place - 1]) / width
    factors = [Fraction(0)] * len(sizes)
    for size, difference in zip(reversed(sizes), reversed(differences), strict=True):
        shifted = [Fraction(0), *factors[:-1]]
        factors = [one - size * other for one, other in zip(shifted, factors, strict=True)]
        factors[0] += difference
    return factors


def _value(terms: Mapping[Steps, Fraction], sizes: list[int]) -> Fraction:
    total = Fraction(0)
    for powers, factor in terms.items():
        for size, power in zip(sizes, powers, strict=True):
            factor *= size**power
        total += factor
    return total


def _text(terms: Mapping[Steps, Fraction], names: list[str]) -> str:
    if not terms:
        return "0"
    divisor = lcm(*(factor.denominator for factor in terms.values()))
    text = ""
    # Positive terms first: a formula has no sign of its own.
    for powers, factor in sorted(terms.items(), key=lambda one: (one[1] < 0, [-power for power in one[0]])):
        number = factor * divisor
        parts = [name for name, power in zip(names, powers, strict=True) for _ in range(power)]
        amount = abs(int(number))
        term = "*".join(parts if amount == 1 and parts else [str(amount), *parts])
        text += f"{' - ' if number < 0 else ' + '}{term}"
    text = text[3:] if text.startswith(" + ") else f"0{text}"
    return text if divisor == 1 else f"({text})//{divisor}"
