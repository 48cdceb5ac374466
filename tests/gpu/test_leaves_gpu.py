"""A last layer's loss by tiles of products that leave statistics of their logits, on a Hopper GPU."""

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
MODULE: Any = load_module(LIBRARY / NAME / "cuda_wgmma.py")
# One row and column, and one beyond or short of tiles of every size; hidden of one step, cut steps and more
# than a ring has stages; rows of w that begin on lines, on halves, amid them and on no 16 bytes; so many
# tiles that a block has several, and a last round that clusters share.
SIZES = [
    (1, 1, 8),
    (15, 63, 64),
    (17, 65, 72),
    (33, 129, 520),
    (65, 1003, 1000),
    (97, 257, 65),
    (113, 193, 2056),
    (129, 513, 128),
    (80, 2024, 5720),
    (22, 7504, 1624),
    (300, 9001, 264),
    (700, 12_345, 136),
]


def kernel_of() -> Kernel:
    kernel = CATALOG.kernel(NAME)
    assert kernel is not None
    return kernel


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("name", MODULE.LEAVES)
def test_every_tile_is_right(name: str, dtype: Dtype) -> None:
    """Twice alike, with labels at the ends and one that is ignored."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", dtype)
    for rows, vocab, hidden in SIZES:
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        x, w, labels = random_inputs(kernel, sizes, dtype, device="cuda")
        labels[-1] = vocab - 1
        if rows > 2:
            labels[0], labels[1] = -100, 0
        expected = reference(kernel, (x, w, labels))
        found = MODULE.launch(program, name, x, w, labels)
        assert relative_error((found,), expected) <= kernel.spec.tolerance.of(dtype), sizes
        assert torch.equal(found, MODULE.launch(program, name, x, w, labels)), sizes


@pytest.mark.parametrize("name", MODULE.LEAVES)
def test_views_amid_numbers_that_are_none(name: str) -> None:
    """Rows that are further apart than they are long; whatever lies behind the last is no logit."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    x, w, labels = random_inputs(
        kernel, {"rows": 50, "vocab": 700, "hidden": 264}, Dtype.BFLOAT16, device="cuda"
    )
    views = []
    for matrix in (x, w):
        room = torch.full((len(matrix) + 3, 280), math.nan, dtype=matrix.dtype, device="cuda")
        views.append(room[1 : 1 + len(matrix), 8:272].copy_(matrix))
    found = MODULE.launch(program, name, *views, labels)
    expected = reference(kernel, (x, w, labels))
    assert relative_error((found,), expected) <= kernel.spec.tolerance.of(Dtype.BFLOAT16)


@pytest.mark.parametrize("name", MODULE.LEAVES)
def test_what_is_no_number_stays_in_its_row(name: str) -> None:
    """Elements of x, the last of columns that fill no tile, and a row of w without a power."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    for vocab in (257, 300, 505):
        sizes = {"rows": 20, "vocab": vocab, "hidden": 264}
        x, w, labels = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        x = x.abs() + 0.1
        x[3, 263], x[9, 0] = math.nan, math.inf
        w[7] = -math.inf
        labels.fill_(8)
        found = MODULE.launch(program, name, x, w, labels)
        assert (~found.isfinite()).nonzero().flatten().tolist() == [3, 9], vocab
        w[vocab - 1] = math.nan
        assert MODULE.launch(program, name, x, w, labels).isnan().all(), vocab


@pytest.mark.parametrize("name", MODULE.LEAVES)
def test_a_label_that_is_no_column_gives_nan(name: str) -> None:
    """Also one of the columns that a tile has beyond the last."""
    kernel, program = kernel_of(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16)
    x, w, _ = random_inputs(kernel, {"rows": 7, "vocab": 700, "hidden": 520}, Dtype.BFLOAT16, device="cuda")
    labels = torch.tensor([700, -1, 767, 3, 10**12, -100, -(2**63)], device="cuda")
    found = MODULE.launch(program, name, x, w, labels)
    assert found.isnan().tolist() == [True, True, True, False, True, False, True]
    assert found[5] == 0


@pytest.mark.parametrize("name", MODULE.LEAVES)
def test_every_plan_of_a_tile_is_right(name: str) -> None:
    """Of tiles that clusters compute one by one, and of those of a last round that they share."""
    kernel, program, leaves = kernel_of(), hopper_program(NAME, "cuda_wgmma", Dtype.BFLOAT16), MODULE.leaves
    for rows, vocab, hidden in ((300, 1465, 2056), (700, 9001, 520)):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        x, w, labels = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        expected = reference(kernel, (x, w, labels))
        for plan in leaves.plans_of(name, rows, vocab, program.multiprocessor_count, hidden):
            at_label, loss = torch.full((rows,), math.nan, device="cuda"), torch.empty_like(x[:, 0])
            pieces = leaves.launch(program, name, x, w, labels, at_label, plan)
            found = MODULE._joined(program, pieces, at_label, labels, loss, vocab)
            assert relative_error((found,), expected) <= kernel.spec.tolerance.of(Dtype.BFLOAT16), (
                sizes,
                plan,
            )
