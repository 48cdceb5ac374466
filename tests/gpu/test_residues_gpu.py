"""A last layer's loss by tiles of w's rows in the order of their residues, read as they lie."""

import math
from typing import Any

import pytest
import torch

from roofscope.kernels.linear_cross_entropy import residues
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

NAME = "linear_cross_entropy"
MODULE: Any = load_module(LIBRARY / NAME / "cuda_wgmma.py")
# Each way in which rows begin; fewer rows of a residue than a tile, and more; a last long row that is cut and
# one that is not; one step, and more for each block of a cluster than its ring has stages; several rounds; a
# last step with all its columns but those in front, and with one.
SIZES = [
    (1, 8, 1),
    (5, 64, 3),
    (65, 130, 65),
    (64, 1030, 36),
    (129, 2049, 100),
    (17, 700, 515),
    (200, 5000, 71),
    (56, 777, 5947),
    (9, 20_049, 390),
    (300, 4097, 260),
    (40, 900, 441),
    (70, 650, 122),
]


def kernel_of() -> Kernel:
    kernel = CATALOG.kernel(NAME)
    assert kernel is not None
    return kernel


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("name", MODULE.RESIDUES)
def test_every_tile_is_right(name: str, dtype: Dtype) -> None:
    """Amid numbers that are none, also where x begins amid 16 bytes."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", dtype)
    for number, (rows, vocab, hidden) in enumerate(SIZES):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        assert residues.takes(vocab, hidden)
        x, w, labels = random_inputs(kernel, sizes, dtype, device="cuda")
        if rows > 1:
            labels[0], labels[1] = -100, vocab - 1
        expected = reference(kernel, (x, w, labels))
        for places in (0, 1 + number % 7):
            found = MODULE.launch(program, name, moved(x, places), moved(w, 0), labels)
            assert relative_error((found,), expected) <= kernel.spec.tolerance.of(dtype), sizes


@pytest.mark.parametrize("name", MODULE.RESIDUES)
def test_what_is_no_number_stays_in_its_row(name: str) -> None:
    """Elements of x at ends of a row, and a row of w without a power."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    for hidden in (515, 513, 511, 74, 68):
        sizes = {"rows": 20, "vocab": 300, "hidden": hidden}
        x, w, labels = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        x = x.abs() + 0.1
        x[3, hidden - 1], x[9, 0] = math.nan, math.inf
        w[7] = -math.inf
        labels.fill_(8)
        found = MODULE.launch(program, name, moved(x, 5), moved(w, 0), labels)
        assert (~found.isfinite()).nonzero().flatten().tolist() == [3, 9], hidden


@pytest.mark.parametrize("name", ["residues_64x64", "residues_64x64_by_2"])
def test_a_label_that_is_no_column_gives_nan(name: str) -> None:
    """Numbers beyond the last row of w that has the same residue."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    sizes = {"rows": 6, "vocab": 700, "hidden": 515}
    x, w, _ = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    labels = torch.tensor([700, -1, 767, 3, 10**12, -100], device="cuda")
    found = MODULE.launch(program, name, x, w, labels)
    assert found.isnan().tolist() == [True, True, True, False, True, False]


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 16,), math.nan, dtype=matrix.dtype, device=matrix.device)
    return room[places : places + matrix.numel()].view(matrix.shape).copy_(matrix)
