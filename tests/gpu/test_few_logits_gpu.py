"""A last layer's loss and gradients of few rows from a w whose rows begin anywhere, read as it lies."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from roofscope.kernels.linear_cross_entropy import few_rows
from roofscope.kernels.linear_cross_entropy_backward import loose_few, residues
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

NAME = "linear_cross_entropy"
# Less than a word, than what a warp reads at once and than its rows, and somewhat more; each room for x;
# more rows of w than all warps take at once, and so few that warps or blocks share them along hidden; each of
# the ways in which rows begin.
SIZES = [
    (1, 2, 1),
    (5, 70, 3),
    (3, 257, 65),
    (8, 130, 129),
    (9, 128, 128),
    (16, 513, 191),
    (17, 129, 255),
    (32, 300, 260),
    (30, 77, 1001),
    (9, 20_049, 390),
    (3, 40_000, 517),
    (7, 300, 3731),
    (1, 521, 7619),
    (8, 2757, 2123),
    (12, 1003, 4001),
]
# Of dw less and more than a warp takes; ends of rows in each word of a lane.
GRADIENTS = [
    (1, 5, 33),
    (1, 2, 1001),
    (3, 257, 65),
    (2, 1030, 41),
    (9, 300, 129),
    (17, 2133, 255),
    (1, 4097, 47),
    (8, 521, 2619),
    (1, 521, 7619),
]


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 16,), math.nan, dtype=matrix.dtype, device=matrix.device)
    copy = room[places : places + matrix.numel()].view(matrix.shape)
    return copy.copy_(matrix)


def kernel_and_module(name: str = NAME) -> tuple[Kernel, Any]:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    return kernel, load_module(LIBRARY / name / "cuda_wgmma.py")


def require_right_wherever_rows_begin(way: str, dtype: Dtype, shapes: Sequence[tuple[int, int, int]]) -> None:
    """Losses of so many rows, classes and hidden, by what ``way`` names, with a row that is ignored."""
    (kernel, module), program = kernel_and_module(), hopper_program(NAME, "cuda_wgmma", dtype)
    for number, (rows, vocab, hidden) in enumerate(shapes):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        x, w, labels = random_inputs(kernel, sizes, dtype, device="cuda")
        if rows > 1:
            labels[0], labels[1] = -100, vocab - 1
        expected = reference(kernel, (x, w, labels))
        for places in (0, 1 + number % 7):
            inputs = moved(x, places), moved(w, places * 3 % 8), labels
            found = module.launch(program, way, *inputs)
            assert relative_error((found,), expected) <= kernel.spec.tolerance.of(dtype), (sizes, places)


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
def test_few_rows_are_right_wherever_rows_begin(dtype: Dtype) -> None:
    require_right_wherever_rows_begin("few_rows", dtype, SIZES)


def test_what_is_no_number_stays_in_its_row() -> None:
    """Elements of x at an end of a row, what lies beside both matrices, and a row of w without a power."""
    (kernel, module), program = kernel_and_module(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    sizes = {"rows": 20, "vocab": 300, "hidden": 515}
    x, w, labels = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    x = x.abs() + 0.1
    x[3, 514], x[9, 0] = math.nan, math.inf
    w[7] = -math.inf
    labels.fill_(8)
    found = module.launch(program, "few_rows", moved(x, 5), moved(w, 3), labels)
    assert (~found.isfinite()).nonzero().flatten().tolist() == [3, 9]


def test_what_is_no_number_reaches_the_loss_through_parts_of_hidden() -> None:
    (kernel, module), program = kernel_and_module(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    sizes = {"rows": 3, "vocab": 300, "hidden": 3731}
    assert few_rows.grid_of(8, 300, 3731, program.multiprocessor_count).parts > 1
    x, w, labels = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    x[1, 3730] = math.nan
    found = module.launch(program, "few_rows", moved(x, 1), moved(w, 3), labels)
    assert found.isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
def test_a_small_w_is_right_wherever_rows_begin(dtype: Dtype) -> None:
    """Each room for x, filled or not; less than a lane has under way and more; more rows of w than warps."""
    (kernel, module), program = kernel_and_module(), hopper_program(NAME, "cuda_wgmma", dtype)
    shapes = (
        (1, 1, 1),
        (1, 439, 119),
        (2, 472, 325),
        (3, 9, 33),
        (4, 600, 128),
        (5, 70, 3),
        (8, 2500, 260),
    )
    require_right_wherever_rows_begin("small_weights", dtype, shapes)
    x, w, labels = random_inputs(kernel, {"rows": 3, "vocab": 300, "hidden": 129}, dtype, device="cuda")
    x[1, 128], labels[2] = math.nan, 300
    found = module.launch(program, "small_weights", moved(x, 1), moved(w, 3), labels)
    assert found.isnan().tolist() == [False, True, True]


@pytest.mark.parametrize("name", ["linear_cross_entropy_backward", "linear_cross_entropy_training"])
@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
def test_gradients_of_few_rows_are_right_wherever_rows_begin(
    name: str, dtype: Dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> float:
        return math.inf

    def nothing(*_: object) -> bool:
        return False

    monkeypatch.setattr(few_rows, "copy_ns", never)  # of w, which tiles would need
    monkeypatch.setattr(residues, "takes", nothing)
    (kernel, module), program = kernel_and_module(name), hopper_program(name, "cuda_wgmma", dtype)
    tolerance = kernel.spec.tolerance.of(dtype)
    for number, (rows, vocab, hidden) in enumerate(GRADIENTS):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        x, w, *rest = random_inputs(kernel, sizes, dtype, device="cuda")
        # Where a row is sure of its label the gradient is one minus what is nearly one: hard in float32.
        rest[0].copy_((x.double() @ w.double().T).argmin(1))
        if rows > 1:
            rest[0][0], rest[0][1] = -100, vocab - 1
        expected = reference(kernel, (x, w, *rest))
        for places in (0, 1 + number % 7):
            inputs = moved(x, places), moved(w, places * 3 % 8), *rest
            assert loose_few.takes(*inputs[:2], program.multiprocessor_count)
            found, again = module.run(program, *inputs), module.run(program, *inputs)
            assert relative_error(found, expected) <= tolerance, (sizes, places)
            # No element of dw by itself is far away, as one of a neighbouring row would be.
            furthest = (found[-1] - expected[-1]).abs().max()
            assert furthest <= 4 * tolerance * expected[-1].abs().max(), (sizes, places)
            assert all(torch.equal(*both) for both in zip(found, again, strict=True)), (sizes, places)


def test_what_is_no_number_stays_in_its_row_of_dw() -> None:
    """Two rows of dw meet in words of 16 bytes, for which both are multiplied."""
    name = "linear_cross_entropy_backward"
    (kernel, module), program = kernel_and_module(name), hopper_program(name, "cuda_wgmma", Dtype.BFLOAT16)
    sizes = {"rows": 5, "vocab": 2100, "hidden": 65}
    x, w, labels, lse, dloss = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    w[[7, 64, 2099]] = math.nan
    _, dw = module.run(program, x, w, labels, lse, dloss)
    assert dw.isnan().any(1).nonzero().flatten().tolist() == [7, 64, 2099]
