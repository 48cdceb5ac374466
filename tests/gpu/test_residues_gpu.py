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
# one that is not; one step, and more for each block of a cluster than its ring has stages; several rounds.
SIZES = [
    (1, 8, 1),
    (5, 64, 3),
    (65, 130, 65),
    (64, 1030, 36),
    (129, 2049, 100),
    (17, 700, 515),
    (200, 5000, 72),
    (56, 777, 5947),
    (9, 20_049, 390),
    (300, 4097, 264),
]


def kernel_of() -> Kernel:
    kernel = CATALOG.kernel(NAME)
    assert kernel is not None
    return kernel


def losses_of(program: Any, name: str, order: residues.Order, *inputs: torch.Tensor) -> torch.Tensor:
    x, w, labels = inputs
    if name in residues.ACROSS:
        tile, parts = residues.ACROSS[name], int(name.partition("_by_")[2] or 1)
    else:
        tile, parts = MODULE.TILES[MODULE.RESIDUES[name]], MODULE.PARTS.get(MODULE.RESIDUES[name], 1)
    at_label = torch.empty(len(x), dtype=torch.float32, device="cuda")
    pieces: torch.Tensor = residues.launch(program, name, tile, parts, order, x, w, labels, at_label)
    return MODULE._joined(program, pieces, at_label, labels, torch.empty_like(x[:, 0]), len(w))


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("name", [*MODULE.RESIDUES, *residues.ACROSS])
def test_every_tile_is_right_in_every_order(name: str, dtype: Dtype) -> None:
    """Amid numbers that are none, also where x begins amid 16 bytes."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", dtype)
    for number, (rows, vocab, hidden) in enumerate(SIZES):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        x, w, labels = random_inputs(kernel, sizes, dtype, device="cuda")
        if rows > 1:
            labels[0], labels[1] = -100, vocab - 1
        expected = reference(kernel, (x, w, labels))
        orders = residues.orders(vocab, hidden)
        assert orders
        for order in orders:
            for places in (0, 1 + number % 7):
                inputs = moved(x, places), moved(w, 0), labels
                found = losses_of(program, name, order, *inputs)
                assert relative_error((found,), expected) <= kernel.spec.tolerance.of(dtype), (sizes, order)


@pytest.mark.parametrize(
    "name", ["residues_64x64", "residues_128x128", "residues_64x64_by_4", "across_32x64", "across_16x64_by_2"]
)
def test_what_is_no_number_stays_in_its_row(name: str) -> None:
    """Elements of x at ends of a row, and a row of w without a power."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    sizes = {"rows": 20, "vocab": 300, "hidden": 515}
    x, w, labels = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    x = x.abs() + 0.1
    x[3, 514], x[9, 0] = math.nan, math.inf
    w[7] = -math.inf
    labels.fill_(8)
    for order in residues.orders(300, 515):
        found = losses_of(program, name, order, moved(x, 5), moved(w, 0), labels)
        assert (~found.isfinite()).nonzero().flatten().tolist() == [3, 9]


@pytest.mark.parametrize("name", ["residues_64x64", "across_16x64"])
def test_a_label_that_is_no_column_gives_nan(name: str) -> None:
    """Numbers beyond the last row of w that has the same residue."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    sizes = {"rows": 6, "vocab": 700, "hidden": 515}
    x, w, _ = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    labels = torch.tensor([700, -1, 767, 3, 10**12, -100], device="cuda")
    for order in residues.orders(700, 515):
        found = losses_of(program, name, order, x, w, labels)
        assert found.isnan().tolist() == [True, True, True, False, True, False]


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 16,), math.nan, dtype=matrix.dtype, device=matrix.device)
    return room[places : places + matrix.numel()].view(matrix.shape).copy_(matrix)
