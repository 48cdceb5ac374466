"""Products of a large B of odd rows as it lies: terms by classes, the maps, and when that is chosen."""

from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared import wgmma_class_sums
from roofscope.kernels.shared.loose_rows import faster_than_tiles
from roofscope.kernels.shared.narrow_sums import multiply_narrow_sums
from roofscope.kernels.shared.wgmma_class_sums import TILES, SumsTile, multiply_class_sums
from roofscope.kernels.shared.wgmma_classes import classes_of
from roofscope.kernels.shared.wgmma_plans import best as best_of_tiles
from roofscope.kernels.shared.whole_rows import pitch
from roofscope.tests.kernels.test_wgmma_classes import MULTIPROCESSORS, Recorder, box, itself

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


@pytest.mark.parametrize(
    ("m", "n", "k", "is_chosen"),
    [
        (91, 15634, 4112, True),
        (51, 6278, 4698, True),
        (36, 15431, 6929, True),
        (151, 5470, 9837, True),
        (10, 11668, 16452, False),  # few rows have a kernel of their own
        (91, 15632, 4112, False),  # whole rows
        (439, 13369, 11155, False),  # so many products that a copy is no matter
        (62, 1583, 1463, False),
    ],
)
def test_a_large_matrix_of_odd_rows_is_taken_as_it_lies(m: int, n: int, k: int, is_chosen: bool) -> None:
    """Where that measured faster than a copy and tiles."""
    a, b = (torch.empty(size, dtype=torch.bfloat16) for size in ((m, k), (k, n)))
    steps, aligned = -(-k // 64), (pitch(k * 2, m) % 64 == 0, pitch(n * 2, k) % 64 == 0)
    tiles_ns = best_of_tiles(m, n, steps, MULTIPROCESSORS, aligned)[1].time_ns
    product: Any = faster_than_tiles(a, b, tiles_ns, MULTIPROCESSORS)
    assert (getattr(product, "func", None) is multiply_class_sums) == is_chosen


def test_each_tile_fits_into_shared_memory_as_often_as_it_says() -> None:
    for tile in TILES:
        assert (tile.shared_bytes + 1024) * tile.together <= 228 * 1024


def test_rows_of_little_b_are_taken_whole() -> None:
    """Where A is long, B is soon spread, and one of both has no whole rows."""
    for m, n, k, is_chosen in (
        (15282, 77, 31, True),
        (11606, 167, 21, True),
        (15282, 80, 32, False),
        (1500, 77, 31, False),
        (7084, 103, 53, False),
    ):
        a, b = (torch.empty(size, dtype=torch.bfloat16) for size in ((m, k), (k, n)))
        product: Any = faster_than_tiles(a, b, 10**6, MULTIPROCESSORS)
        assert (product is multiply_narrow_sums) == is_chosen, f"{m} x {n} x {k}"
