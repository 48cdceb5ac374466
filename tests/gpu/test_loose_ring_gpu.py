"""A last layer's loss and gradients from rows that begin anywhere: every tile that reads them as they lie."""

import math
from typing import Any

import pytest
import torch

from roofscope.kernels.linear_cross_entropy_training import few_rows
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs, reference, relative_error

LOSS, GRADIENTS, TRAINING = (f"linear_cross_entropy{end}" for end in ("", "_backward", "_training"))
# Less than a tile, a step and a word, and somewhat more; tiles and steps that end at an edge; more tiles than
# multiprocessors; each of the ways in which rows begin.
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
]


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 16,), math.nan, dtype=matrix.dtype, device=matrix.device)
    copy = room[places : places + matrix.numel()].view(matrix.shape)
    return copy.copy_(matrix)


def kernel_of(name: str) -> Kernel:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    return kernel


def call(name: str, program: Any, tile: str, inputs: Tensors) -> Tensors:
    module = load_module(LIBRARY / name / "cuda_wgmma.py")
    if name == LOSS:
        return (module.launch(program, tile, *inputs),)
    if name == GRADIENTS:
        return module.launch_few(program, *inputs, loose=tile)
    x, w, labels, dloss = inputs
    outputs = torch.empty_like(dloss), torch.empty_like(x), torch.empty_like(w)
    few_rows.run(program, x, w, labels, dloss, outputs, loose=tile)
    return outputs


def tiles_of(name: str) -> list[str]:
    return list(few_rows.LOOSE if name == TRAINING else load_module(LIBRARY / name / "cuda_wgmma.py").LOOSE)


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("name", [LOSS, GRADIENTS, TRAINING])
def test_every_tile_is_right_wherever_rows_begin(name: str, dtype: Dtype) -> None:
    kernel, program = kernel_of(name), hopper_program(name, "cuda_wgmma", dtype)
    for number, (rows, vocab, hidden) in enumerate(SIZES):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        x, w, labels, *rest = random_inputs(kernel, sizes, dtype, device="cuda")
        if rows > 1:
            labels[0], labels[1] = -100, vocab - 1
        expected = reference(kernel, (x, w, labels, *rest))
        for places in (0, 1 + number % 7):
            inputs = moved(x, places), moved(w, places * 3 % 8), labels, *rest
            for tile in tiles_of(name):
                error = relative_error(call(name, program, tile, inputs), expected)
                assert error <= kernel.spec.tolerance.of(dtype), f"{tile}: {rows} x {vocab} x {hidden}"


def test_what_is_no_number_stays_in_its_row() -> None:
    """The last element of a row of x, and what lies behind the rows of both matrices."""
    program = hopper_program(LOSS, "cuda_wgmma", Dtype.BFLOAT16)
    sizes = {"rows": 70, "vocab": 300, "hidden": 515}
    x, w, labels = random_inputs(kernel_of(LOSS), sizes, Dtype.BFLOAT16, device="cuda")
    x[3, 514], x[9, 0] = math.nan, math.inf
    for tile in tiles_of(LOSS):
        (found,) = call(LOSS, program, tile, (moved(x, 5), moved(w, 3), labels))
        assert (~found.isfinite()).nonzero().flatten().tolist() == [3, 9], tile
