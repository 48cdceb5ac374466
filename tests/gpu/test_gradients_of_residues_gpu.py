"""A last layer's loss and gradients of few rows by the residues of w's rows, which are read as they lie."""

import math
from typing import Any

import pytest
import torch

from roofscope.kernels.linear_cross_entropy_backward import residues
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

BACKWARD, TRAINING = "linear_cross_entropy_backward", "linear_cross_entropy_training"
# Each way in which rows begin, and each room for rows of x; as many rows of w as places and one more; fewer
# than a tile of each residue has and more; a last long row that is cut and one that is not; parts of the
# vocabulary; of dw less than a tile across has columns, and a few elements more.
SIZES = [
    (9, 8, 65),
    (1, 9, 1),
    (16, 1030, 36),
    (17, 700, 515),
    (33, 2049, 100),
    (64, 8191, 258),
    (65, 8193, 131),
    (128, 513, 1001),
    (129, 4097, 260),
    (256, 1003, 77),
    (40, 20_049, 390),
    (12, 300, 4130),
]


def parts_of(name: str, dtype: Dtype = Dtype.BFLOAT16) -> tuple[Kernel, Any, Any]:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    return kernel, load_module(LIBRARY / name / "cuda_wgmma.py"), hopper_program(name, "cuda_wgmma", dtype)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a copy of w is there sooner."""

    def takes(*_: object) -> bool:
        return True

    monkeypatch.setattr(residues, "takes", takes)


@pytest.mark.parametrize("name", [BACKWARD, TRAINING])
@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
def test_gradients_are_right_wherever_rows_begin(name: str, dtype: Dtype) -> None:
    """Amid numbers that are none, also where x begins amid 16 bytes; every call the same."""
    kernel, module, program = parts_of(name, dtype)
    tolerance = kernel.spec.tolerance.of(dtype)
    for number, (rows, vocab, hidden) in enumerate(SIZES):
        sizes = {"rows": rows, "vocab": vocab, "hidden": hidden}
        x, w, *rest = random_inputs(kernel, sizes, dtype, device="cuda")
        # Where a row is sure of its label the gradient is one minus what is nearly one: hard in float32.
        rest[0].copy_((x.double() @ w.double().T).argmin(1))
        if rows > 1:
            rest[0][0], rest[0][1] = -100, vocab - 1
        expected = reference(kernel, (x, w, *rest))
        for places in (0, 1 + number % 7):
            inputs = moved(x, places), moved(w, 0), *rest
            spoil(*inputs)
            found, again = module.run(program, *inputs), module.run(program, *inputs)
            assert relative_error(found, expected) <= tolerance, (sizes, places)
            # No element of dw by itself is far away, as one of a neighbouring row would be.
            furthest = (found[-1] - expected[-1]).abs().max()
            assert furthest <= 4 * tolerance * expected[-1].abs().max(), (sizes, places)
            assert all(torch.equal(*both) for both in zip(found, again, strict=True)), (sizes, places)


def test_what_is_no_number_stays_in_its_rows() -> None:
    """Rows of w and of dw meet in words of 16 bytes, and boxes of w have ends of rows beside each."""
    kernel, module, program = parts_of(BACKWARD)
    for hidden in (515, 68, 130):
        sizes = {"rows": 20, "vocab": 2100, "hidden": hidden}
        x, w, labels, lse, dloss = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        w[[7, 64, 2099]] = math.nan
        _, dw = module.run(program, x, moved(w, 0), labels, lse, dloss)
        assert dw.isnan().any(1).nonzero().flatten().tolist() == [7, 64, 2099], hidden
        x, w, labels, lse, dloss = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        x[3, hidden - 1] = math.nan
        dx, _ = module.run(program, x, moved(w, 0), labels, lse, dloss)
        assert dx.isnan().any(1).nonzero().flatten().tolist() == [3], hidden


def test_a_label_that_is_no_column_gives_nan() -> None:
    """Numbers beyond the last row of w that has the same residue."""
    kernel, module, program = parts_of(TRAINING)
    sizes = {"rows": 12, "vocab": 700, "hidden": 515}
    x, w, labels, dloss = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    labels[:5] = torch.tensor([700, -1, 767, 10**12, -100], device="cuda")
    loss, *_ = module.run(program, x, w, labels, dloss)
    assert loss.isnan().nonzero().flatten().tolist() == [0, 1, 2, 3]
    assert loss[4] == 0


def spoil(*like: torch.Tensor) -> None:
    """Leave numbers that are none in memory that outputs may get."""
    spoiled = [torch.full_like(one, math.nan) for one in like[:2] for _ in range(3)]
    torch.cuda.synchronize()
    del spoiled


def moved(matrix: torch.Tensor, places: int) -> torch.Tensor:
    """The same, beginning so many elements behind 16 bytes, amid numbers that are none."""
    room = torch.full((matrix.numel() + 16,), math.nan, dtype=matrix.dtype, device=matrix.device)
    return room[places : places + matrix.numel()].view(matrix.shape).copy_(matrix)
