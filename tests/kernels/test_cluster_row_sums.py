"""What cluster_row_sums.py chooses: kernels that exist, and clusters that hold all of a row."""

import re
from itertools import product
from typing import Any

import pytest
import torch

from roofscope.kernels.shared import cluster_row_sums
from roofscope.profiling.paths import LIBRARY
from roofscope.tests.kernels.launchers import launcher
from roofscope.tests.kernels.recorder import Recorder

LISTED = (LIBRARY / "shared" / "cluster_row_sums.cuh").read_text()


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_cluster_holds_its_row(width: int) -> None:
    for rows, cols in product(
        (1, 2, 7, 23, 49, 50, 66), (4097, 4100, 8192, 16_049, 28_689, 65_536, 97_808, 2**17)
    ):
        row = cols // width * width
        shape = cluster_row_sums.cluster_sums(rows, row, width, 132)
        if shape is None:
            most = cluster_row_sums.BLOCKS[rows > 49] * cluster_row_sums.MOST_THREADS
            assert row > most * width * max(cluster_row_sums.ACCESSES[width])
            continue
        assert f" KERNEL({shape.each}, {shape.width})" in LISTED
        assert shape.width == width
        assert shape.part % width == 0
        assert shape.blocks * shape.part >= row
        assert shape.threads * shape.each * width >= shape.part
        assert shape.threads % 32 == 0
        assert shape.threads <= cluster_row_sums.MOST_THREADS
    assert f"MOST_SUMMING_THREADS = {cluster_row_sums.MOST_THREADS};" in LISTED
    (blocks,) = re.findall(r"MOST_SUMMING_BLOCKS = (\d+);", LISTED)
    assert max(cluster_row_sums.BLOCKS) <= int(blocks)


def test_accesses_are_as_wide_as_all_rows_begin_on() -> None:
    x = torch.empty(4 * 5000 + 4)
    for cols, begins, width in ((5000, 0, 4), (5000, 2, 2), (5000, 1, 1), (4998, 0, 2), (4999, 0, 1)):
        rows = x[begins : begins + 3 * cols].view(3, cols)
        assert cluster_row_sums.width_of(cols, rows) == width
        assert cluster_row_sums.width_of(cols, rows, x[1:]) == 1


def test_clusters_take_few_long_rows_on_hopper_alone() -> None:
    class Program(Recorder):
        def __init__(self, architecture: str) -> None:
            super().__init__()
            self.architecture = architecture

    def launched(architecture: str, rows: int, cols: int, dtype: torch.dtype = torch.float32) -> str:
        program = Program(architecture)
        launcher("row_sum", "cuda_pieces").run(program, torch.empty(rows, cols, dtype=dtype))
        return program.launches[0][0]

    assert launched("sm_90a", 12, 42_776) == "row_sum_cluster_4_4"
    assert launched("sm_90a", 12, 42_776, torch.bfloat16) != "row_sum_cluster_4_4"
    assert launched("sm_100a", 12, 42_776) == "row_sum_packed_piece"
    assert launched("sm_90a", 2, 300_000) == "row_sum_packed_piece"
    assert launched("sm_90a", 2, 97_809) == "row_sum_piece"
    assert launched("sm_90a", 128, 33_214) == "row_sum_block"
    program: Any = Program("sm_90a")
    assert cluster_row_sums.cluster_of_rows(program, torch.empty(67, 9000)) is None
    assert cluster_row_sums.cluster_of_rows(program, torch.empty(30, 4096)) is None
