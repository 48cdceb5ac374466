"""How programs in Triton share rows."""

import pytest

from roofscope.kernels.shared.row_tiles import row_tile


@pytest.mark.parametrize(
    ("rows", "cols", "per_warp", "tile"),
    [
        (142, 512, 1024, (1, 4)),
        (264, 512, 1024, (1, 4)),
        (265, 512, 1024, (1, 1)),
        (90, 1024, 1024, (1, 8)),
        (34, 1024, 256, (1, 8)),
        (100, 8192, 1024, (1, 8)),
        (142, 256, 1024, (1, 1)),
        (8192, 512, 1024, (2, 1)),
        (5000, 1024, 1024, (2, 4)),
        (212_229, 16, 1024, (64, 1)),
        (120_001, 12, 1024, (32, 2)),
        (70_049, 8, 1024, (64, 1)),
        (70_049, 5, 1024, (64, 2)),
        (32_767, 12, 1024, (16, 1)),
        (212_229, 32, 1024, (32, 1)),
    ],
)
def test_few_rows_have_a_program_each_and_very_many_padded_ones_few_elements_a_thread(
    rows: int, cols: int, per_warp: int, tile: tuple[int, int]
) -> None:
    assert row_tile(rows, cols, per_warp) == tile
