"""Rows of w in the order of their residues: each is where residues.cuh looks for it."""

import math
import re

import pytest
import torch

from roofscope.kernels.linear_cross_entropy import residues
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

FOLDER = LIBRARY / "linear_cross_entropy"
SIZES = [(64, 1), (65, 33), (700, 515), (129, 20), (333, 1002), (200, 74), (8, 3), (1030, 36)]


@pytest.mark.parametrize(("vocab", "hidden"), SIZES)
def test_each_row_of_w_lies_in_long_rows(vocab: int, hidden: int) -> None:
    w, period = torch.arange(vocab * hidden).view(vocab, hidden), residues.period_of(hidden)
    with_last, without = residues.long_rows(w, period)
    assert all(matrix.stride(0) % 8 == 0 for matrix in (with_last, without))
    places: set[int] = set()
    for residue in range(period):
        longer = with_last if residue < vocab % period else without
        rows = w[residue::period]
        assert len(longer) == len(rows)
        place = residue * hidden
        torch.testing.assert_close(longer[:, place : place + hidden], rows)
        places.add(place % 8)
    # A copy of x for each place in 16 bytes.
    assert places == set(range(0, 8, math.gcd(8, hidden)))
    assert len(places) == period


def test_rows_of_whole_16_bytes_need_no_copy() -> None:
    assert [residues.period_of(hidden) for hidden in (1000, 1004, 1002, 1001)] == [1, 2, 4, 8]
    assert residues.takes(1000, 1001)
    assert not residues.takes(1000, 1000)
    assert not residues.takes(7, 1001)  # fewer rows than places
    assert not residues.takes(1000, 2**28 + 1)


@pytest.mark.parametrize(("vocab", "hidden"), SIZES)
def test_tiles_cover_each_residue(vocab: int, hidden: int) -> None:
    module, period = load_module(FOLDER / "cuda_wgmma.py"), residues.period_of(hidden)
    for of_tile, *_ in module.RESIDUES.values():
        tile = module.TILES[of_tile]
        each, rest = divmod(residues.columns_of(tile, vocab, period), period * tile.columns)
        assert not rest
        assert (each - 1) * tile.columns * period < vocab <= each * tile.columns * period


def test_tiles_are_those_of_the_kernels() -> None:
    module, source = load_module(FOLDER / "cuda_wgmma.py"), (FOLDER / "residues.cuh").read_text()
    found = re.findall(
        r"^(TILES|PARTS)_OF_RESIDUES\((residues_\w+), (\d), (\d+), (\d)\)", source, re.MULTILINE
    )
    assert {name for _, name, *_ in found} == module.RESIDUES.keys()
    for kind, name, *numbers in found:
        of_tile, *_ = module.RESIDUES[name]
        tile, parts = module.TILES[of_tile], module.PARTS.get(of_tile)
        if kind == "PARTS":
            assert list(map(int, numbers)) == [tile.warpgroups, tile.stages, parts]
        else:
            assert [*map(int, numbers), parts] == [tile.warpgroups, tile.columns, tile.stages, None]


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (10, 10_167, 8091, "residues_64x128"),
        (38, 6139, 6661, "residues_64x64"),
        (25, 3913, 3837, "residues_64x64_by_2"),
        (12, 999, 8001, "residues_64x64_by_4"),
        (98, 27_108, 3367, "residues_128x128"),
        (243, 28_873, 1921, "residues_128x128"),
        (98, 27_108, 3368, "tile_128x256"),  # no copy to save
        (461, 8801, 2124, "tile_128x192_pair"),  # whose tiles are larger
        (3, 98_125, 260, "few_rows"),  # short rows: each tile clears what is in front and behind
        (231, 176_664, 170, "tile_128x256_pair"),
        (38, 1696, 852, "tile_64x64"),
    ],
)
def test_long_rows_that_begin_anywhere_have_no_copy(
    rows: int, vocab: int, hidden: int, expected: str
) -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    assert module.choose(rows, vocab, 132, hidden, is_loose=hidden % 8 != 0) == expected
