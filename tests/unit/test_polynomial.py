"""The formula that whole numbers follow over a kernel's sizes."""

import pytest

from roofscope.profiling.planning.formula import evaluate
from roofscope.profiling.planning.polynomial import at_steps, fitted


@pytest.mark.parametrize(
    ("formula", "sizes"),
    [
        ("2*m*n*k", {"m": 64, "n": 3, "k": 5}),
        ("200*n*n*n", {"n": 128}),
        ("2*b*s*s + 2*b*s", {"b": 2, "s": 17}),
        ("7", {"n": 4}),
        ("0", {"n": 4}),
        ("(n*n + n)//2", {"n": 8}),
        ("n*n - 3*n", {"n": 8}),
    ],
)
def test_a_polynomial_is_found(formula: str, sizes: dict[str, int]) -> None:
    found = fitted(sizes, lambda steps: evaluate(formula, at_steps(sizes, steps)))
    assert found == formula


@pytest.mark.parametrize("formula", ["n**5", "n // 7", "(n - 9) % 11"])
def test_what_is_none_is_refused(formula: str) -> None:
    sizes = {"n": 10}
    assert fitted(sizes, lambda steps: evaluate(formula, at_steps(sizes, steps))) is None


def test_a_size_of_0_has_no_multiples() -> None:
    assert fitted({"n": 0}, lambda _: 0) is None
