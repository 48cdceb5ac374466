"""How programs in Triton share rows."""

import pytest

from roofscope.kernels.shared.row_tiles import (
    ADD_NORM_TILES,
    NORM_TILES,
    QUANTIZED_NORM_TILES,
    SOFTMAX_TILES,
    Fitted,
    fitted_tile,
    row_tile,
)


@pytest.mark.parametrize(
    ("rows", "cols", "per_warp", "tile"),
    [
        (142, 512, 1024, (1, 4)),
        (264, 512, 1024, (1, 4)),
        (265, 512, 1024, (1, 1)),
        (8192, 512, 1024, (2, 1)),
        (90, 1024, 1024, (1, 8)),
        (34, 1024, 256, (1, 8)),
        (163, 1342, 1024, (1, 8)),
        (100, 8192, 1024, (1, 8)),
        (907, 720, 1024, (1, 4)),
        (5000, 1024, 1024, (2, 4)),
        (142, 256, 1024, (1, 1)),
        (2000, 203, 1024, (2, 1)),
        (4471, 195, 1024, (2, 1)),
        (90_000, 195, 1024, (4, 1)),
        (3410, 71, 1024, (4, 1)),
        (2343, 59, 1024, (4, 1)),
        (5000, 59, 1024, (8, 2)),
        (3583, 32, 1024, (16, 2)),
        (212_229, 32, 1024, (32, 1)),
        (6209, 3, 1024, (64, 4)),
        (1999, 11, 1024, (16, 4)),
        (70_049, 10, 1024, (64, 4)),
        (70_049, 5, 1024, (128, 4)),
        (212_229, 16, 1024, (64, 2)),
    ],
)
def test_rows_are_spread_over_no_more_programs_than_start_in_a_moment(
    rows: int, cols: int, per_warp: int, tile: tuple[int, int]
) -> None:
    assert row_tile(rows, cols, per_warp) == tile


@pytest.mark.parametrize(
    ("rows", "cols", "fitted", "tile"),
    [
        (123_941, 28, NORM_TILES, (32, 4)),
        (74_698, 20, NORM_TILES, (64, 4)),
        (70_000, 27, NORM_TILES, (32, 4)),
        (70_000, 24, NORM_TILES, (32, 2)),
        (12_468, 36, NORM_TILES, (16, 4)),
        (70_514, 36, NORM_TILES, (32, 4)),
        (70_514, 37, NORM_TILES, (8, 1)),
        (855, 767, NORM_TILES, (2, 2)),
        (6913, 79, NORM_TILES, (8, 2)),
        (6913, 79, ADD_NORM_TILES, (4, 1)),
        (6913, 78, ADD_NORM_TILES, (8, 2)),
        (52_448, 52, SOFTMAX_TILES, (32, 4)),
        (23_738, 52, SOFTMAX_TILES, (16, 4)),
        (23_738, 53, SOFTMAX_TILES, (8, 2)),
        (13_872, 56, SOFTMAX_TILES, (16, 4)),
        (40_000, 56, SOFTMAX_TILES, (8, 2)),
        (11_670, 23, QUANTIZED_NORM_TILES, (8, 4)),
        (22_305, 23, QUANTIZED_NORM_TILES, (16, 4)),
        (34_329, 28, QUANTIZED_NORM_TILES, (32, 4)),
        (1214, 18, QUANTIZED_NORM_TILES, (16, 4)),
        (12_704, 24, QUANTIZED_NORM_TILES, (32, 4)),
        (1546, 36, QUANTIZED_NORM_TILES, (16, 4)),
    ],
)
def test_fitted_tiles_go_by_what_rows_begin_on(
    rows: int, cols: int, fitted: tuple[Fitted, ...], tile: tuple[int, int]
) -> None:
    assert fitted_tile(rows, cols, fitted) == tile
