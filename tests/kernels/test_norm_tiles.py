"""How the gradients of the norms are shared in Triton by a grid that stays."""

import pytest

from roofscope.kernels.shared.norm_tiles import stay_tile, sum_tile


@pytest.mark.parametrize(
    ("rows", "width", "height"),
    [
        (182, 1024, 4),
        (329, 2048, 2),
        (78, 2048, 2),
        (1233, 16, 64),
        (10_000, 1024, 2),
        (600, 8192, 1),
        (9, 4096, 1),
        (99, 4096, 1),
        (16_384, 64, 32),
        (0, 16, 1),
    ],
)
def test_few_rows_leave_about_as_many_sums_as_one_round_adds(rows: int, width: int, height: int) -> None:
    assert stay_tile(rows, width) == height


@pytest.mark.parametrize(("parts", "tile"), [(3, (32, 2)), (64, (64, 4)), (182, (256, 16)), (528, (256, 16))])
def test_sums_are_added_at_once_where_they_are_not_too_many(parts: int, tile: tuple[int, int]) -> None:
    assert sum_tile(parts) == tile
