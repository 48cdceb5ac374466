import pytest

from roofscope.profiling.planning.formula import FormulaError, evaluate, holds
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.sessions import make_session


def test_formulas_are_integer_arithmetic() -> None:
    assert evaluate("(2*rows*cols + rows) * s", {"rows": 3, "cols": 5, "s": 4}) == 132
    assert evaluate("n // 2 - n ** 2", {"n": 5}) == -23


@pytest.mark.parametrize(
    "formula", ["__import__('os')", "n.bit_length()", "1.5 * n", "True", "n if n else 1", "m", "n +", "[n]"]
)
def test_anything_else_is_refused(formula: str) -> None:
    with pytest.raises(FormulaError):
        evaluate(formula, {"n": 1})


@pytest.mark.parametrize(
    "formula",
    [
        "n**64",
        "n * n * n",
        "((n**64)**64)**64",
        "0x" + "f" * 400,
        "9" * 900,
        "(" * 300 + "n" + ")" * 300,
        "+".join(["n"] * 30_000),
        "1+" * 400 + "1",
        "2**(0-1)",
        "n\0",
        "\ud800",
    ],
)
def test_a_formula_is_bounded(formula: str) -> None:
    """In time, in memory, and by what a session holds; and what is said of it has a sentence's length."""
    with pytest.raises(FormulaError) as raised:
        evaluate(formula, {"n": 2**40})
    assert len(str(raised.value)) < 300
    assert str(raised.value).isprintable()


def test_a_value_on_the_way_may_pass_64_bits() -> None:
    assert evaluate("n*n*n // (n*n)", {"n": 2**40}) == 2**40
    assert holds("n*n*n > 2**63", {"n": 2**40})


def test_work_scales_with_the_dtype() -> None:
    spec = make_session().specs["softmax"]
    sizes = {"rows": 8, "cols": 16}
    wide, narrow = spec.work_at(sizes, Dtype.FLOAT32), spec.work_at(sizes, Dtype.BFLOAT16)
    assert wide.flop_count == narrow.flop_count
    assert wide.byte_count == 2 * narrow.byte_count == 2 * 8 * 16 * 4


def test_sizes_that_do_not_fit_get_one_sentence() -> None:
    spec = make_session().specs["softmax"]
    assert spec.problem_with({"rows": 1, "cols": 1}) is None
    assert "no axis 'depth'" in (spec.problem_with({"rows": 1, "depth": 1}) or "")
    assert "needs a size for its axis 'cols'" in (spec.problem_with({"rows": 1}) or "")
    assert "got -1" in (spec.problem_with({"rows": -1, "cols": 1}) or "")


def test_an_implementation_is_named_after_its_file() -> None:
    found = Implementation("softmax", Provider.CUDA, "warp_per_row", "hash")
    assert (found.stem, found.label, found.key) == (
        "cuda_warp_per_row",
        "CUDA warp per row",
        "softmax/cuda_warp_per_row",
    )
    assert Implementation("softmax", Provider.EAGER, "", "hash").stem == "eager"


def test_an_element_type_has_one_short_name() -> None:
    assert [dtype.label for dtype in Dtype] == ["fp32", "fp16", "bf16"]
