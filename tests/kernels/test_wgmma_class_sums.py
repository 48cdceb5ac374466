"""Products of a large B of odd rows as it lies: terms by classes, the maps, and when that is chosen."""

from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared import wgmma_class_sums
from roofscope.kernels.shared.wgmma_class_sums import SumsTile, multiply_class_sums
from roofscope.kernels.shared.wgmma_classes import classes_of
from roofscope.tests.kernels.test_wgmma_classes import Recorder, box, itself

STEP = 64
TILE = SumsTile(16, 128, stages=4, together=2)


def ordered_by(classes: int, a: torch.Tensor, units: int) -> torch.Tensor:
    """As ordered_classes makes it: the columns of each class, and zeros behind them."""
    found = torch.zeros(a.shape[0], classes, units * 8, dtype=a.dtype)
    for number in range(classes):
        of_class = a[:, number::classes]
        found[:, number, : of_class.shape[1]] = of_class
    return found.flatten(1)


@pytest.mark.parametrize("n", [*range(121, 128), 130, 250])
@pytest.mark.parametrize("k", [8, 9, 15, 520, 1031])
def test_boxes_of_classes_make_the_product(n: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As wgmma_class_sums.cuh takes them: each sum by all classes, each shifted as its rows of B begin."""
    monkeypatch.setattr(wgmma_class_sums, "tensor_map", itself)
    recorder: Any = Recorder()
    a, b = torch.randint(-4, 5, (20, k)).to(torch.bfloat16), torch.randint(-4, 5, (k, n)).to(torch.bfloat16)
    classes = classes_of(n)
    result = multiply_class_sums(recorder, a, b, torch.bfloat16, tile=TILE, cluster=8)
    (_, ordering, (_, room, *given_a), _), (_, grid, (_, shorter, longer, c, *sizes), given) = (
        recorder.launches
    )
    units = sizes[-1]
    assert given["cluster"] == 8
    assert given_a == [20, k, classes, units]
    assert sizes == [20, n, k, classes, units]
    assert c is result
    assert room.shape == (20, classes * units * 8)
    assert ordering * 256 >= room.numel() // 8
    ordered = ordered_by(classes, a, units)
    made = torch.full((20, n), torch.nan)
    for tile in range(grid // 8):
        row, column = tile % 2 * TILE.rows, tile // 2 * TILE.width
        rows, columns = min(20 - row, TILE.rows), min(n - column, TILE.width)
        sums = torch.zeros(TILE.rows, TILE.width)
        for block in range(8):
            number, part, sharers = block % classes, block // classes, 8 // classes
            of_class = longer if number < k % classes else shorter
            steps = -(-(k // classes + (number < k % classes)) // STEP)
            own = torch.zeros(TILE.rows, TILE.columns)
            for step in range(steps * part // sharers, steps * (part + 1) // sharers):
                of_b = box(of_class, step * STEP, number * n // 8 * 8 + column, STEP, TILE.columns)
                own += (
                    box(ordered, row, number * units * 8 + step * STEP, TILE.rows, STEP).float()
                    @ of_b.float()
                )
            shift = number * n % 8
            sums += own[:, shift : shift + TILE.width]
        of_c = made[row : row + rows, column : column + columns]
        assert of_c.isnan().all()
        of_c.copy_(sums[:rows, :columns])
    assert torch.equal(made, a.float() @ b.float())
