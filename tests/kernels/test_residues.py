"""Rows of w in the order of their residues: each is where residues.cuh looks for it."""

import math
import re

import pytest
import torch

from roofscope.kernels.linear_cross_entropy import residues
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

FOLDER = LIBRARY / "linear_cross_entropy"
SIZES = [(64, 1), (65, 33), (700, 515), (129, 20), (333, 1000), (200, 72), (8, 3), (1030, 36)]


@pytest.mark.parametrize(("vocab", "hidden"), SIZES)
def test_each_row_of_w_lies_in_long_rows(vocab: int, hidden: int) -> None:
    w = torch.arange(vocab * hidden).view(vocab, hidden)
    for order in residues.orders(vocab, hidden)[1:]:
        with_last, without = residues.long_rows(w, order.period)
        assert all(matrix.stride(0) % 8 == 0 for matrix in (with_last, without))
        places: set[int] = set()
        for residue in range(order.period):
            longer = with_last if residue < vocab % order.period else without
            rows = w[residue :: order.period]
            assert len(longer) == len(rows)
            place = residue * hidden
            torch.testing.assert_close(longer[:, place : place + hidden], rows)
            places.add(place % order.unit % 8)
        # A copy of x for each place in 16 bytes.
        assert places == set(range(0, 8, math.gcd(8, hidden)))
        assert len(places) == residues.copies_of(hidden)


def test_rows_on_lines_need_no_order() -> None:
    assert residues.orders(1000, 128) == [residues.ALL]
    assert [(order.period, order.unit) for order in residues.orders(1000, 1000)] == [(1, 8), (8, 64)]
    assert [order.period for order in residues.orders(1000, 1001)] == [1, 8, 64]
    assert [order.period for order in residues.orders(63, 1001)] == [1, 8]
    assert residues.orders(7, 1001) == [residues.ALL]


@pytest.mark.parametrize(("vocab", "hidden"), SIZES)
def test_tiles_cover_each_residue(vocab: int, hidden: int) -> None:
    module = load_module(FOLDER / "cuda_wgmma.py")
    for order in residues.orders(vocab, hidden):
        for tile in module.TILES.values():
            each, rest = divmod(residues.columns_of(tile, vocab, order), order.period * tile.columns)
            assert not rest
            assert (each - 1) * tile.columns * order.period < vocab <= each * tile.columns * order.period


def test_tiles_are_those_of_the_kernels() -> None:
    module, source = load_module(FOLDER / "cuda_wgmma.py"), (FOLDER / "residues.cuh").read_text()
    found = re.findall(
        r"^(TILES|PARTS)_OF_RESIDUES\((residues_\w+), (\d), (\d+), (\d)\)", source, re.MULTILINE
    )
    assert {name for _, name, *_ in found} == module.RESIDUES.keys()
    for kind, name, *numbers in found:
        tile, parts = module.TILES[module.RESIDUES[name]], module.PARTS.get(module.RESIDUES[name])
        if kind == "PARTS":
            assert list(map(int, numbers)) == [tile.warpgroups, tile.stages, parts]
        else:
            assert [*map(int, numbers), parts] == [tile.warpgroups, tile.columns, tile.stages, None]


def test_tiles_across_are_those_of_the_kernels() -> None:
    source = (FOLDER / "residues.cuh").read_text()
    found = re.findall(r"^RESIDUES_ACROSS\((across_\w+), (\d+), (\d), (\d)\)", source, re.MULTILINE)
    assert {name for name, *_ in found} == residues.ACROSS.keys()
    for name, rows, stages, parts in found:
        tile = residues.ACROSS[name]
        assert (int(rows), int(stages), 1, 64) == (tile.rows, tile.stages, tile.warpgroups, tile.columns)
        assert parts == (name.partition("_by_")[2] or "1")
        assert residues.BLOCKS_ACROSS * (tile.shared_bytes + 1024) <= 228 * 1024
