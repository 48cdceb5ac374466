"""Labels that are no column: torch ignores -100, and nothing may read beside the row for any other."""

from concurrent.futures import ProcessPoolExecutor

import pytest
import torch
from torch.nn.functional import cross_entropy

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels import interpreter

FOLDER = LIBRARY / "cross_entropy"
SHAPES = [
    (5, 301),
    (2, 9001),
]  # a program a row, and the pieces of few long rows, which a second kernel joins
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=["rows", "pieces"])


def logits_of(shape: tuple[int, int]) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def some_ignored(rows: int) -> torch.Tensor:
    return torch.tensor([-100, 7, 300, -100, 0][:rows])


@each_shape
@pytest.mark.parametrize("version", ["eager", "reference"])
def test_an_ignored_row_costs_nothing(version: str, shape: tuple[int, int]) -> None:
    logits, labels = logits_of(shape), some_ignored(shape[0])
    found = load_module(FOLDER / f"{version}.py").run(logits, labels)
    assert found[labels == -100].tolist() == [0.0] * int((labels == -100).sum())
    torch.testing.assert_close(found.float(), cross_entropy(logits, labels, reduction="none"))


def test_no_row_of_the_reference_need_count() -> None:
    reference = load_module(FOLDER / "reference.py")
    assert reference.run(logits_of((3, 4)), torch.full((3,), -100)).tolist() == [0.0] * 3
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        reference.run(logits_of((1, 4)), torch.tensor([4]))


@each_shape
def test_triton_ignores_rows_as_torch_does(interpreters: ProcessPoolExecutor, shape: tuple[int, int]) -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    logits, labels = logits_of(shape), some_ignored(shape[0])
    torch.testing.assert_close(
        by_triton(interpreters, logits, labels), cross_entropy(logits, labels, reduction="none")
    )


@each_shape
def test_triton_makes_nan_of_a_label_that_is_no_column(
    interpreters: ProcessPoolExecutor, shape: tuple[int, int]
) -> None:
    """The element before a row, or behind it, is a number as well: read there, it would make a wrong loss."""
    pytest.importorskip("triton", reason="Triton is not installed here")
    rows, cols = shape
    labels = torch.tensor([cols, -1, cols + 3, -99, 2][:rows])
    found = by_triton(interpreters, logits_of(shape), labels)
    assert found.isnan().tolist() == [True, True, True, True, False][:rows]


def by_triton(interpreters: ProcessPoolExecutor, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    path, arrays = FOLDER / "triton_online.py", [logits.double().numpy(), labels.double().numpy()]
    (loss,), _ = interpreters.submit(interpreter.run, path, ["float32", "int64"], arrays).result()
    return torch.from_numpy(loss).float()
