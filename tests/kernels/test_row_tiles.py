"""How programs in Triton share rows."""

import pytest

from roofscope.kernels.shared.row_tiles import row_tile


@pytest.mark.parametrize(
    ("rows", "width", "per_warp", "tile"),
    [
        (142, 512, 1024, (1, 4)),
        (264, 512, 1024, (1, 4)),
        (265, 512, 1024, (1, 1)),
        (90, 1024, 1024, (1, 4)),
        (34, 1024, 256, (1, 4)),
        (100, 8192, 1024, (1, 8)),
        (142, 256, 1024, (1, 1)),
        (8192, 512, 1024, (2, 1)),
        (5000, 1024, 1024, (2, 4)),
    ],
)
def test_few_rows_have_a_program_each(rows: int, width: int, per_warp: int, tile: tuple[int, int]) -> None:
    assert row_tile(rows, width, per_warp) == tile
