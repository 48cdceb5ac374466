"""Rows of a linear layer's cross-entropy that are ignored, which no gradient comes from."""

from concurrent.futures import ProcessPoolExecutor

import pytest
import torch
from torch.nn.functional import cross_entropy

from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.tests.kernels import interpreter
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs, relative_error

# More of the vocabulary than the interpreter takes at a time; the last part ends within a tile.
SIZES = {"rows": 70, "vocab": 2003, "hidden": 40}


def kernel() -> Kernel:
    found = CATALOG.kernel("linear_cross_entropy_backward")
    assert found is not None
    return found


def some_ignored() -> tuple[Tensors, Tensors]:
    """Inputs, and the gradients that torch's own autograd finds in float64."""
    x, w, labels, lse, dloss = random_inputs(kernel(), SIZES, kernel().spec.dtypes[0])
    labels[[0, 7, 69]] = -100
    labels[[1, 2]] = torch.tensor([0, SIZES["vocab"] - 1])
    leaves = [one.double().requires_grad_() for one in (x, w)]
    cross_entropy(leaves[0] @ leaves[1].T, labels, reduction="none").backward(dloss.double())
    return (x, w, labels, lse, dloss), tuple(one.grad for one in leaves if one.grad is not None)


@pytest.mark.parametrize("version", ["eager", "reference"])
def test_an_ignored_row_has_no_part_in_the_gradients(version: str) -> None:
    inputs, expected = some_ignored()
    found = load_module(kernel().folder / f"{version}.py").run(*inputs)
    assert relative_error(found, expected) <= kernel().spec.tolerance.of(kernel().spec.dtypes[0])
    assert not found[0][[0, 7, 69]].any()


def test_triton_ignores_rows_as_torch_does(interpreters: ProcessPoolExecutor) -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    inputs, expected = some_ignored()
    names = [str(x.dtype).removeprefix("torch.") for x in inputs]
    path, arrays = kernel().folder / "triton_chunks.py", [x.double().numpy() for x in inputs]
    outputs, _ = interpreters.submit(interpreter.run, path, names, arrays).result()
    found = tuple(torch.from_numpy(output) for output in outputs)
    assert relative_error(found, expected) <= kernel().spec.tolerance.of(kernel().spec.dtypes[0])
    assert not found[0][[0, 7, 69]].any()
