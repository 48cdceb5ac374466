"""The judging of plain tensors: what a norm over all elements hides, and what an honest result may have."""

import math
import re

import pytest
import torch

from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.job import compare
from roofscope.profiling.worker.job.compare import CHUNK, Findings, examine, judge, part_limit

BFLOAT16 = 8e-3  # the library's tolerance of a bf16 result
ROWS, COLS = 32768, 1024


@pytest.fixture(scope="module")
def softmax() -> tuple[torch.Tensor, torch.Tensor]:
    """An honest bf16 softmax and its reference."""
    generator = torch.Generator().manual_seed(7)
    x = torch.empty((ROWS, COLS), dtype=torch.bfloat16).uniform_(-1, 1, generator=generator)
    return torch.softmax(x.float(), 1).bfloat16(), torch.softmax(x.double(), 1)


def refusal(output: torch.Tensor, expected: torch.Tensor, tolerance: float = BFLOAT16) -> str:
    with pytest.raises(WrongResult) as caught:
        judge("y", output, expected, tolerance, "at n=1")
    assert caught.value.kind is FailureKind.WRONG_VALUES
    return str(caught.value)


def whole_error(output: torch.Tensor, expected: torch.Tensor) -> float:
    return examine(output, expected, 1e9).relative_error


def test_an_honest_result_takes_a_fifth_of_its_limit(softmax: tuple[torch.Tensor, torch.Tensor]) -> None:
    findings, largest = judge("y", *softmax, BFLOAT16, "at n=1")
    assert findings.relative_error < BFLOAT16 / 2
    assert findings.worst is not None
    assert findings.worst.share < 0.2
    differences = (softmax[0].double() - softmax[1]).abs()
    assert largest is not None
    assert largest.absolute == differences.max()
    assert differences[largest.index] == largest.absolute
    assert (largest.found, largest.expected) == (softmax[0][largest.index], softmax[1][largest.index])


@pytest.mark.parametrize("row", [0, 777, ROWS - 1])
def test_one_wrong_row_of_32768_is_refused(softmax: tuple[torch.Tensor, torch.Tensor], row: int) -> None:
    good, expected = softmax
    bad = good.clone()
    bad[row] = good[(row + 1) % ROWS]
    assert whole_error(bad, expected) < BFLOAT16  # which all that was judged before
    assert f"in row {row} of output y at n=1" in refusal(bad, expected)


def test_a_wrong_last_partial_tile_is_refused(softmax: tuple[torch.Tensor, torch.Tensor]) -> None:
    good, expected = (tensor.reshape(-1)[: ROWS * COLS - 1001] for tensor in softmax)
    bad = good.clone()
    bad[-37:] = 0
    assert whole_error(bad, expected) < BFLOAT16
    element = re.search(r"in element (\d+) of output y", refusal(bad, expected))
    assert element is not None
    assert int(element[1]) >= len(bad) - 37


def test_wrong_elements_far_apart_are_refused() -> None:
    """As dense as 1500 of 64 Mi, which moved the norm by 6.7e-3 of 8e-3."""
    generator = torch.Generator().manual_seed(7)
    count = 1 << 22
    good = torch.empty(count, dtype=torch.bfloat16).uniform_(-1, 1, generator=generator)
    expected = good.double()
    at = torch.randint(count, (1500 // 16,), generator=generator)
    bad = good.clone()
    bad[at] = good[(at + count // 2) % count]
    assert whole_error(bad, expected) < BFLOAT16
    refusal(bad, expected)
    bad = good.clone()
    bad[at[0]] = 3.0  # alone among 4 Mi
    assert whole_error(bad, expected) < BFLOAT16
    assert f"element {int(at[0])} of output y" in refusal(bad, expected)


def test_the_farthest_element_is_named() -> None:
    expected = torch.full((40, 8), 0.25, dtype=torch.float64)
    output = expected.float()
    output[17, 3] = 0.5
    assert refusal(output, expected, 1e-6).endswith(
        "the farthest is row 17, column 3 of output y: 0.5 instead of 0.25."
    )


@pytest.mark.parametrize(
    ("wrong", "words"), [(math.nan, "NaN"), (math.inf, "infinity"), (-math.inf, "-infinity")]
)
def test_nan_and_infinity_are_judged_in_place(wrong: float, words: str) -> None:
    expected = torch.ones((5, 7), dtype=torch.float64)
    spoiled = expected.clone()
    spoiled[2, 4] = wrong
    place = "at row 2, column 4 of output y"
    assert f"returned {words} instead of 1 {place}" in refusal(spoiled.float(), expected)
    assert f"returned 1 instead of {words} {place}" in refusal(expected.float(), spoiled)
    if math.isinf(wrong):
        turned = expected.clone()
        turned[2, 4] = -wrong
        assert f"instead of {words} {place}" in refusal(turned.float(), spoiled)
    findings, largest = judge("y", spoiled.float(), spoiled, 1e-6, "at n=1")
    assert findings.relative_error == 0
    assert largest is not None
    assert largest.absolute == 0


def test_the_rest_is_judged_where_the_reference_is_not_finite() -> None:
    expected = torch.ones(10_000, dtype=torch.float64)
    expected[5000] = math.inf
    output = expected.float()
    output[9999] = 2.0
    assert "element 9999 of output y: 2 instead of 1" in refusal(output, expected, 1e-6)


def test_slices_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are short, no multiple of a chunk, or longer than a slice; another layout; no element."""
    generator = torch.Generator().manual_seed(7)
    for shape in ((513, 40), (7, 5001), (1, 30_000), (30_000,), (64, 128, 3), (20_000, 1), (), (0, 5)):
        expected = torch.empty(shape, dtype=torch.float64).uniform_(-1, 1, generator=generator)
        output = expected.bfloat16()
        whole = examine(output, expected, BFLOAT16)
        with monkeypatch.context() as patch:
            patch.setattr(compare, "_SLICE", 8192)
            sliced = examine(output, expected, BFLOAT16)
            turned = examine(output.mT.contiguous().mT if len(shape) > 1 else output, expected, BFLOAT16)
        assert sliced.relative_error == pytest.approx(whole.relative_error, rel=1e-12)
        assert sliced.largest == whole.largest
        assert turned == sliced
        assert whole == Findings() or (whole.worst is not None and 0 <= whole.worst.share < 1)


def test_each_part_is_judged_by_its_own_count() -> None:
    """Rows of any length and tails: one element too far, in each part of a tensor in turn."""
    for rows, cols in ((300, 3), (3, 5000), (1, 9000)):
        expected = torch.ones((rows, cols), dtype=torch.float64)
        for row, col in ((0, 0), (rows // 2, cols // 2), (rows - 1, cols - 1)):
            output = expected.clone()
            output[row, col] += 0.99 * part_limit(1e-3, 1)
            shares = examine(output, expected, 1e-3).worst
            assert shares is not None
            assert shares.share > 0.98
            output[row, col] = 1 + 1.02 * part_limit(1e-3, 1)
            findings = examine(output, expected, 1e-3)
            assert findings.worst is not None
            assert findings.worst.share > 1
            assert findings.largest == row * cols + col


def test_what_cancels_out_among_large_rows_is_held_to_them() -> None:
    """As the first rows of a gradient of causal attention: 20 times the others, and rounded as they are."""
    generator = torch.Generator().manual_seed(7)
    expected = torch.empty((8192, 64), dtype=torch.float64).uniform_(-1, 1, generator=generator)
    expected[:16] *= 20
    expected[1, 3] = 0
    expected[9] *= 1e-3  # a whole row that cancels out
    for row, columns in ((1, slice(3, 4)), (9, slice(None))):
        error = 0.15 if row == 1 else 0.1
        honest = expected.clone()
        honest[row, columns] += error
        worst = examine(honest, expected, BFLOAT16).worst
        assert worst is not None
        assert worst.share < 1
        wrong = expected.clone()
        wrong[5000, columns] += error
        refusal(wrong, expected)


def test_nearly_zero_rows_are_held_to_the_rest() -> None:
    """Rounding of what was summed up is as large in a row that cancels out."""
    generator = torch.Generator().manual_seed(7)
    expected = torch.empty((400, 64), dtype=torch.float64).uniform_(-1, 1, generator=generator)
    expected[200] *= 1e-9
    output = expected + 0.9e-3 * torch.empty_like(expected).uniform_(-1, 1, generator=generator)
    judge("y", output, expected, 1e-3, "at n=1")
    expected[:] = 0
    judge("y", expected.float(), expected, 1e-3, "at n=1")
    assert "is off by 0.5" in refusal(expected.float().index_fill(0, torch.tensor([3]), 0.0625), expected)


def test_few_integers_may_be_rounded_the_other_way() -> None:
    generator = torch.Generator().manual_seed(7)
    expected = torch.randint(-127, 128, (64, 32), generator=generator).double()
    output = expected.to(torch.int8)
    output[10, 10] -= 1
    judge("q", output, expected, 1e-3, "at n=1")
    output[10] = -output[10]
    assert "output q" in refusal(output, expected, 1e-3).replace("output y", "output q")


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.bool])
def test_a_reference_may_give_integers(dtype: torch.dtype) -> None:
    expected = (torch.arange(2 * CHUNK) % 2).to(dtype)
    judge("q", expected.clone(), expected, 1e-3, "at n=1")
    assert "is off by" in refusal(torch.zeros_like(expected), expected, 1e-3)


def test_a_chunk_is_never_allowed_more_than_its_share() -> None:
    assert part_limit(1.0, CHUNK) < 2.5
    assert part_limit(1.0, 1) == 16
