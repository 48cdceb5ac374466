"""A last layer's loss from rows that begin anywhere: tiles that read them as they lie."""

import math
from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

NAME = "linear_cross_entropy"
# Less than a tile, a step and a word, and somewhat more; tiles and steps that end at an edge; more tiles than
# multiprocessors; more steps than stages; each of the ways in which rows begin.
SIZES = [
    (1, 2, 1),
    (5, 70, 3),
    (3, 257, 65),
    (17, 130, 129),
    (64, 128, 128),
    (65, 513, 191),
    (37, 129, 255),
    (130, 300, 260),
    (200, 77, 1001),
    (9, 20_049, 390),
    (3, 40_000, 517),
    (7, 300, 3731),
]


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 16,), math.nan, dtype=matrix.dtype, device=matrix.device)
    copy = room[places : places + matrix.numel()].view(matrix.shape)
    return copy.copy_(matrix)


def kernel_and_module() -> tuple[Kernel, Any]:
    kernel = CATALOG.kernel(NAME)
    assert kernel is not None
    return kernel, load_module(LIBRARY / NAME / "cuda_wgmma.py")


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
def test_tiles_are_right_wherever_rows_begin(dtype: Dtype) -> None:
    (kernel, module), program = kernel_and_module(), hopper_program(NAME, "cuda_wgmma", dtype)
    for number, (rows, vocab, hidden) in enumerate(SIZES):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        x, w, labels = random_inputs(kernel, sizes, dtype, device="cuda")
        if rows > 1:
            labels[0], labels[1] = -100, vocab - 1
        expected = reference(kernel, (x, w, labels))
        for places in (0, 1 + number % 7):
            inputs = moved(x, places), moved(w, places * 3 % 8), labels
            error = relative_error((module.launch(program, module.LOOSE, *inputs),), expected)
            assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {vocab} x {hidden}"


def test_what_is_no_number_stays_in_its_row() -> None:
    """The last element of a row of x, and what lies behind the rows of both matrices."""
    (kernel, module), program = kernel_and_module(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    sizes = {"rows": 70, "vocab": 300, "hidden": 515}
    x, w, labels = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    x[3, 514], x[9, 0] = math.nan, math.inf
    found = module.launch(program, module.LOOSE, moved(x, 5), moved(w, 3), labels)
    assert (~found.isfinite()).nonzero().flatten().tolist() == [3, 9]
