import pytest

from roofscope.profiling.planning.formula import FormulaError, evaluate
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
