"""Gradients of few rows by the residues of w's rows: columns of d, parts of dx and tiles of dw cover all."""

import math
import re
from typing import Any

import pytest
import torch

from roofscope.kernels.linear_cross_entropy import residues as long_rows
from roofscope.kernels.linear_cross_entropy_backward import residues
from roofscope.kernels.linear_cross_entropy_training import powers
from roofscope.kernels.shared.tile_times import ROW
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels.recorder import Recorder

SIZES = [(9, 8, 65), (12, 1030, 36), (64, 8191, 258), (65, 8193, 131), (128, 513, 1001), (256, 64_136, 2042)]
SOURCE = (LIBRARY / "linear_cross_entropy_backward" / "residues.cuh").read_text()


@pytest.mark.parametrize(("rows", "vocab", "hidden"), SIZES)
def test_each_column_of_d_has_its_place(rows: int, vocab: int, hidden: int) -> None:
    """That of a label too, as OrderOfColumns tells."""
    order = residues.Order(vocab, hidden, residues.tile_of(rows).columns)
    shift, stride = order.numbers
    labels = torch.arange(vocab)
    places = (labels & ((1 << shift) - 1)) * stride + (labels >> shift)
    assert len(set(map(int, places))) == vocab
    assert int(places.max()) < order.width
    assert stride % order.columns == 0
    assert order.period * hidden % 8 == 0


def test_tiles_are_those_of_the_kernels() -> None:
    assert "ACROSS_GROUPS = 4, ACROSS_ROWS = 128, ACROSS_STAGES = 4;" in SOURCE
    found = re.findall(r"^DX_OF_RESIDUES\((\d+), (\d+), (\d+)\)", SOURCE, re.MULTILINE)
    for room, stages, blocks in (map(int, one) for one in found):
        shared = stages * ((128 + room) * ROW + 16)
        assert blocks * (shared + 1024) <= 228 * 1024, room
    for name, kind in (("backward/cuda_wgmma.cu", "weights"), ("training/few_powers.cuh", "powers")):
        source = (LIBRARY / f"linear_cross_entropy_{name}").read_text()
        tiles = re.findall(
            rf"^\w+\({kind}_of_residues_(\d+)x(\d+), (\d), (\d+), (\d)\)", source, re.MULTILINE
        )
        assert len(tiles) == 2
        for rows, columns, groups, own, stages in (map(int, one) for one in tiles):
            tile = residues.tile_of(rows)
            assert (tile.rows, tile.columns, tile.warpgroups) == (rows, columns, groups)
            assert (tile.columns, tile.stages) == (own, stages)


@pytest.mark.parametrize("kernel", ["linear_cross_entropy_backward", "linear_cross_entropy_training"])
@pytest.mark.parametrize(("rows", "vocab", "hidden"), SIZES)
def test_w_is_not_copied(
    kernel: str, rows: int, vocab: int, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, recorder = load_module(LIBRARY / kernel / "cuda_wgmma.py"), Recorder()

    def nothing(*_: object) -> None: ...

    def always(*_: object) -> bool:
        return True

    for one in (module, powers, residues):
        for name in ("needs_hopper", "tensor_map"):
            if hasattr(one, name):
                monkeypatch.setattr(one, name, nothing)
    monkeypatch.setattr(residues, "takes", always)
    x, w = (torch.empty(n, hidden, dtype=torch.bfloat16, device="meta") for n in (rows, vocab))
    labels, dloss = torch.zeros(rows, dtype=torch.int64), x[:, 0]
    inputs: Any = (x, w, labels, *((dloss,) if kernel.endswith("training") else (dloss.float(), dloss)))
    *_, dx, dw = module.run(recorder, *inputs)
    assert (dx.shape, dw.shape) == (x.shape, w.shape)
    launches = {name: (grid, sizes) for name, grid, sizes, _ in recorder.launches}
    copies, logits, *join, of_dx, join_dx, of_dw = launches
    kind, tile = "powers" if join else "weights", "64x128" if rows <= 64 else "128x128"
    assert (copies, logits) == ("copies_of_rows", f"{kind}_of_residues_{tile}")
    short = vocab <= 1024  # one tile of each residue
    assert join in ([], ["join_and_make_short" if short else "join_and_make_weights"])
    room = next(room for room in (16, 32, 64, 128, 256) if rows <= room)
    assert (of_dx, join_dx, of_dw) == (f"dx_of_residues_{room}", "join_dx", "dw_of_residues")

    period, grid = long_rows.period_of(hidden), launches[of_dx][0]
    assert isinstance(grid, tuple)
    assert grid[1] % period == 0
    assert grid[0] == -(-(hidden + 8 - math.gcd(8, hidden)) // 128)
    *_, count, columns = launches[of_dw][1]
    assert columns == -(-hidden // 256)
    assert count == columns * period * -(-vocab // (period * 128))


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "parts"),
    [
        (35, 64_136, 2042, 2),
        (22, 37_364, 4626, 1),
        (128, 50_257, 700, 11),
        (9, 8, 65, 1),
        (17, 600, 65, 1),
        (64, 128_256, 1021, 2),  # two blocks of a multiprocessor
        (65, 128_256, 1021, 1),
    ],
)
def test_blocks_of_dx_are_as_many_as_multiprocessors(rows: int, vocab: int, hidden: int, parts: int) -> None:
    order = residues.Order(vocab, hidden, 128)
    room, columns, found = residues.parts_of_dx(rows, order, 132)
    assert rows <= room
    assert columns * 128 >= hidden
    assert found == parts


@pytest.mark.parametrize(
    ("rows", "vocab", "hidden", "expected"),
    [
        (35, 64_136, 2042, True),
        (12, 50_257, 6001, True),
        (20, 84_465, 465, True),
        (256, 30_000, 1001, True),
        (35, 64_136, 2048, False),  # no copy to save
        (8, 52_345, 1620, False),
        (257, 30_000, 1001, False),
        (10, 122_304, 687, False),  # mma.sync
        (118, 1198, 6125, False),  # tiles that are hardly filled
        (23, 120_980, 55, False),
        (64, 3712, 255, False),
    ],
)
def test_a_large_w_whose_rows_begin_anywhere_is_read_as_it_lies(
    rows: int, vocab: int, hidden: int, expected: bool
) -> None:
    x, w = (torch.empty(n, hidden, dtype=torch.bfloat16, device="meta") for n in (rows, vocab))
    assert residues.takes(x, w, 132) == expected


def test_a_w_that_begins_amid_16_bytes_is_copied() -> None:
    x, line = torch.empty(20, 2001, dtype=torch.bfloat16), torch.empty(2600 * 2001 + 8, dtype=torch.bfloat16)
    begin = -(line.data_ptr() // 2) % 8
    for late in (0, 1):
        w = line[begin + late :][: 2600 * 2001].view(2600, 2001)
        assert residues.takes(x, w, 132) == (late == 0)
