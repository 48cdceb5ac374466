"""Launches of the gradients of the weighted sum of rows: kernels that exist have all columns and rows."""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
import torch

from roofscope.kernels.weighted_sum_backward import cuda_phases
from roofscope.profiling.paths import LIBRARY

FOLDER = LIBRARY / "weighted_sum_backward"
TEXT = (FOLDER / "cuda_phases.cu").read_text()
MULTIPROCESSORS = 132


class Program:
    """Keeps what is launched: name, blocks, threads, arguments, and how."""

    multiprocessor_count = MULTIPROCESSORS

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        self.launched: list[tuple[str, int, int, tuple[Any, ...], dict[str, Any]]] = []

    def launch(self, name: str, grid: int, block: int, *arguments: object, **how: object) -> None:
        self.launched.append((name, grid, block, arguments, how))


def launches(
    rows: int, cols: int, dtype: torch.dtype = torch.float32, architecture: str = "sm_90a"
) -> list[tuple[str, int, int, tuple[Any, ...], dict[str, Any]]]:
    program = Program(architecture)
    dy, x, w = (torch.empty(s, dtype=dtype, device="meta") for s in ((rows,), (rows, cols), (cols,)))
    cuda_phases.run(program, dy, x, w)
    return program.launched


def phases(rows: int, cols: int, dtype: torch.dtype) -> Iterator[list[Any]]:
    """The two launches of each architecture, where there are two."""
    for architecture in ("sm_80", "sm_90a", "sm_100a"):
        if len(found := launches(rows, cols, dtype, architecture)) == 2:
            yield found


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_columns_of_few_rows_are_a_threads_own(dtype: torch.dtype) -> None:
    """One launch of a kernel that exists has all columns of few rows; of others two have them."""
    columns = (1, 7, 1999, 33_791, 33_792, 250_723, 540_672, 4_482_404)
    for rows, cols in product((0, 1, 8, 9, 16, 17, 32, 33, 4096), columns):
        launched = launches(rows, cols, dtype)
        name, blocks, threads, *_ = launched[0]
        kind = name.rpartition("_")[2]
        if kind in ("packed", "shifted"):
            assert (kind == "packed") is (cols * dtype.itemsize % 16 == 0)
            assert f"FEW_ROWS_KERNEL({kind}, " in TEXT
            assert blocks * threads * 16 >= cols * dtype.itemsize
            assert blocks >= 132
        elif kind == "column":
            assert f" {name}(" in TEXT
            assert 0 <= blocks * threads - cols < threads
            assert dtype.itemsize == 4
        else:
            assert rows > (16 if dtype.itemsize == 4 else 8) or cols * dtype.itemsize < 2 * 132 * 64 * 16
        assert len(launched) == (1 if kind in ("packed", "shifted", "column") else 2)


SHAPES = tuple(
    product(
        (0, 17, 49, 300, 2399, 2400, 5001, 70_001),
        (1, 2, 3, 4, 31, 32, 63, 96, 97, 128, 130, 256, 257, 431, 1946, 2049, 4096, 4097, 20_001),
    )
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_parts_have_each_row_and_each_column_once(dtype: torch.dtype) -> None:
    names: set[str] = set()
    for rows, cols in SHAPES:
        for (name, blocks, threads, arguments, how), _ in phases(rows, cols, dtype):
            names.add(name)
            assert f" {name}(" in TEXT or f"RING_KERNEL({name[-1]})" in TEXT
            partial, *sizes = arguments[2:]
            assert partial.shape[1] == cols
            if "ring" in name:
                assert sizes[:2] == [rows, cols]
                assert blocks == len(partial) <= MULTIPROCESSORS
                assert threads == cuda_phases.RING_THREADS + 32
                own, height, stages = sizes[2:]
                check_ring(rows, cols, own, height, stages, how["shared_bytes"], int(name[-1]))
                continue
            across, height = sizes[2:]
            columns = across if "single" in name else across * 16 // dtype.itemsize
            assert blocks == len(partial) * math.ceil(cols / columns)
            assert (len(partial) - 1) * height < max(rows, 1) <= max(len(partial), 1) * height
            assert height % (threads // across) == 0
    rings = {name for name in names if "ring" in name}
    assert len(rings) == (3 if dtype is torch.float32 else 0)
    assert "weighted_sum_column_parts" in names


def check_ring(rows: int, cols: int, threads: int, height: int, stages: int, shared: int, each: int) -> None:
    assert threads <= cuda_phases.RING_THREADS
    assert (each - 1) * threads < cols <= each * threads
    assert height % cuda_phases.RUN == 0  # a copy is of whole 16 bytes
    assert 3 <= stages <= cuda_phases.MOST_STAGES
    assert stages * height * (cols + 1) * 4 <= shared <= 200 * 1024
    groups = cuda_phases.RING_THREADS // threads
    assert groups * cols * 4 <= shared  # where their sums lie at the end
    assert rows >= cuda_phases.LEAST_RING_ROWS


def test_rings_are_for_hopper_and_for_tensors_that_begin_on_16_bytes() -> None:
    assert "ring" in launches(47_484, 431)[0][0]
    assert "ring" not in launches(47_484, 431, architecture="sm_100a")[0][0]
    program, rows, cols = Program("sm_90a"), 4001, 431
    x = torch.empty(rows * cols + 1)
    cuda_phases.run(program, torch.empty(rows), x[1:].view(rows, cols), torch.empty(cols))
    cuda_phases.run(program, torch.empty(rows + 1)[1:], x[:-1].view(rows, cols), torch.empty(cols))
    assert not any("ring" in name for name, *_ in program.launched)


def test_a_ring_has_stages_that_leave_few_blocks_waiting_for_one() -> None:
    for rows, cols in ((2454, 539), (6540, 391), (2600, 1946), (8166, 337)):
        ring = cuda_phases.ring_of(rows, cols, 4, MULTIPROCESSORS)
        assert ring is not None
        turns = math.ceil(rows / (ring.height * MULTIPROCESSORS))
        assert rows / (turns * ring.height * MULTIPROCESSORS) > 0.8


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_outer_product_has_each_element_once(dtype: torch.dtype) -> None:
    each = 16 // dtype.itemsize
    for rows, cols in SHAPES:
        for _, (name, blocks, threads, arguments, _how) in phases(rows, cols, dtype):
            groups, parts = arguments[-1], arguments[5]
            adding = math.ceil(cols / (threads // groups))  # blocks that add parts up
            assert parts == len(arguments[2])
            if "flat" in name:
                packs = int(name[-1])
                assert f"FLAT_KERNEL({packs})" in TEXT
                assert 0 <= (blocks - adding) * packs * threads * each - rows * cols < packs * threads * each
                assert_reciprocal(rows, cols, arguments[8])
                continue
            assert f" {name}(" in TEXT
            across, height = arguments[8:10]
            assert blocks - adding == math.ceil(cols / (across * each)) * math.ceil(rows / height)
            assert rows == 0 or cols % each == 0


def assert_reciprocal(rows: int, cols: int, reciprocal: int) -> None:
    """The row of the first and of the last element of some rows, as __umul64hi tells it."""
    assert reciprocal < 2**64 or cols == 1
    for row in {0, 1, rows // 2, rows - 1} if cols > 1 and rows > 1 else ():
        for at in (row * cols, row * cols + cols - 1):
            assert at * reciprocal >> 64 == row


def test_rows_of_whole_packs_are_a_run_only_where_threads_would_idle() -> None:
    def name(cols: int, dtype: torch.dtype) -> str:
        return launches(30_001, cols, dtype)[1][0]

    assert "flat" in name(431, torch.float32)
    assert "flat" not in name(432, torch.float32)
    assert "flat" in name(48, torch.float32)  # short
    assert "flat" in name(260, torch.float32)  # 65 packs for 128 threads
    assert "flat" in name(431, torch.bfloat16)
    assert "flat" not in name(520, torch.bfloat16)


def test_long_loose_rows_go_a_column_a_thread_and_by_packs_where_they_begin_on_16_bytes() -> None:
    names = [launches(2964, cols)[0][0] for cols in (7575, 7576, 4097)]
    assert names == [f"weighted_sum_{kind}" for kind in ("single_columns", "column_parts", "single_columns")]


@pytest.mark.parametrize(
    ("rows", "cols", "groups_of_block"), [(24, 5001, 1), (100, 5001, 2), (5000, 5001, 4), (2399, 2001, 8)]
)
def test_few_parts_of_a_column_are_one_threads(rows: int, cols: int, groups_of_block: int) -> None:
    """All blocks that add parts up have something to do."""
    (*_, first, _), (_, blocks, threads, given, _) = launches(rows, cols)
    partial = first[2]
    parts, groups = given[5], given[-1]
    assert partial.shape == (parts, cols)
    assert groups == groups_of_block
    assert threads % groups == 0
    outer = math.ceil(rows * cols / (int(launches(rows, cols)[1][0][-1]) * threads * 4))
    assert threads // groups * (blocks - outer - 1) < cols <= threads // groups * (blocks - outer)
