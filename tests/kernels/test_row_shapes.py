"""Sizes that launchers choose for rows of any length and number: they cover the matrix, and fit."""

from itertools import product
from typing import Any

import pytest
import torch

from roofscope.kernels.shared import norm_phases, norm_ring
from roofscope.kernels.shared.row_pieces import cluster_pieces, row_pieces
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.worker.failures import Refusal

SHAPES = [
    (rows, cols)
    for rows in (0, 1, 2, 3, 9, 16, 47, 131, 133, 1000, 70_001, 2**22)
    for cols in (1, 7, 8, 255, 256, 1031, 4096, 8200, 16_384, 65_537, 262_144, 564_733, 2**26)
    if rows * cols <= 2**30
]
MULTIPROCESSORS = (1, 28, 132, 148)
MOST_SHARED = {"Ampere": 99 * 1024, "Hopper": 227 * 1024}


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
@pytest.mark.parametrize("element_size", [2, 4])
def test_phases_cover_the_matrix(element_size: int, multiprocessors: int) -> None:
    pack = 16 // element_size
    for rows, cols in SHAPES:
        sizes = norm_phases.choose_phases(rows, cols, element_size, multiprocessors)
        assert (sizes.pieces - 1) * sizes.length < cols <= sizes.pieces * sizes.length
        assert sizes.length % (norm_phases.THREADS * pack) == 0
        width = sizes.across * pack
        assert (sizes.panels - 1) * width < cols <= sizes.panels * width
        assert sizes.across % norm_phases.WARP == sizes.block % sizes.across == 0
        assert 0 < sizes.block <= norm_phases.THREADS
        assert sizes.height <= norm_phases.MOST_HEIGHT
        assert (sizes.chunks - 1) * sizes.height <= max(rows - 1, 0)
        assert rows <= sizes.chunks * sizes.height
        if sizes.is_few:
            assert sizes.panels * sizes.chunks > 2 * multiprocessors
            assert min(rows, sizes.height) <= norm_phases.FEW_ROUNDS * (sizes.block // sizes.across)


@pytest.mark.parametrize(("rows", "cols", "chunks"), [(216, 90_813, 5), (81, 151_953, 2), (146, 6511, 10)])
def test_panels_that_are_enough_are_cut_for_an_even_end(rows: int, cols: int, chunks: int) -> None:
    assert norm_phases.choose_phases(rows, cols, 2, 132).chunks == chunks


@pytest.mark.parametrize(
    ("rows", "cols", "rows_of_a_thread"),
    [
        (9, 564_733, 3),
        (7, 681_230, 2),
        (10, 177_364, 3),
        (3, 600_000, 2),
        (5, 134_644, 1),
        (8, 2**17, 1),
        (2, 2**24, 2),
        (36, 113_841, 5),
    ],
)
def test_few_long_rows_are_one_chunk(rows: int, cols: int, rows_of_a_thread: int) -> None:
    """Nothing is left to add up; a thread has few of them, and a multiprocessor two blocks at least."""
    sizes = norm_phases.choose_phases(rows, cols, 2, 132)
    assert sizes.chunks == 1
    assert sizes.is_few
    assert sizes.panels > 2 * 132
    assert -(-rows // (sizes.block // sizes.across)) == rows_of_a_thread


class Recorder:
    """Stands for a CudaProgram: the grid and the block of each launch, by name."""

    multiprocessor_count = 132

    def __init__(self) -> None:
        self.launches: dict[str, tuple[object, object]] = {}

    def launch(self, name: str, grid: object, block: object, *_: object, overlaps: bool) -> None:
        assert overlaps
        self.launches[name.removeprefix("norm_")] = grid, block


def launched(rows: int, cols: int) -> dict[str, tuple[object, object]]:
    x, w, rstd = (
        torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in ((rows, cols), (cols,), (rows,))
    )
    recorder: Any = Recorder()
    norm_phases.launch_phases(recorder, "norm", (x, x, w, rstd), x, w)
    return recorder.launches


def test_the_sums_of_few_chunks_are_a_thread_each() -> None:
    """A block of 32 threads a column has nothing for most of them: very many wait for one another."""
    assert launched(70, 70_001)["columns"] == ((-(-70_001 // 128), 1), 128)
    assert launched(1000, 1024)["columns"] == ((32, 1), (32, 32))
    assert set(launched(9, 564_733)) == {"pieces_shifted", "panels_shifted_few"}
    assert set(launched(64, 2**14)) == {"pieces_packed", "panels_packed", "columns"}


@pytest.mark.parametrize(
    ("rows", "cols", "pieces"),
    [
        (8, 2**17, 16),
        (16, 2**16, 8),
        (64, 2**14, 2),
        (200, 2**13, 1),
        (128, 4096, 2),
        (8, 2**15, 16),
        (40, 9357, 5),
    ],
)
def test_rows_are_cut_as_was_fastest(rows: int, cols: int, pieces: int) -> None:
    """On an H200, in bfloat16, of those that were tried: longer pieces where they keep it busy."""
    assert norm_phases.choose_phases(rows, cols, 2, 132).pieces == pieces


@pytest.mark.parametrize("multiprocessors", MULTIPROCESSORS)
def test_few_long_rows_are_spread_over_the_grid(multiprocessors: int) -> None:
    for rows in (1, 2, 16):
        sizes = norm_phases.choose_phases(rows, 2**24, 2, multiprocessors)
        assert rows * sizes.pieces >= min(2 * multiprocessors, norm_phases.MOST_PIECES)
        assert sizes.panels >= 2 * multiprocessors
        assert sizes.chunks == 1
        _, pieces = row_pieces(rows, 2**24, 4096, multiprocessors)
        assert rows * pieces >= 2 * multiprocessors


@pytest.mark.parametrize("shared_bytes", MOST_SHARED.values(), ids=MOST_SHARED)
@pytest.mark.parametrize("element_size", [2, 4])
def test_a_ring_fits_into_its_block(element_size: int, shared_bytes: int) -> None:
    groups = {name: (threads, blocks) for name, threads, blocks in norm_ring.ROW_GROUPS}
    chosen: set[str] = set()
    for cols in range(8, 2**17 + 1, 1000):
        try:
            ring = norm_ring.choose_ring("key", cols, element_size=element_size, shared_bytes=shared_bytes)
        except Refusal:
            assert not 2**14 < cols * element_size <= 2**15
            continue
        threads, blocks = groups[ring.name]
        chosen.add(ring.name)
        assert 2 <= ring.stages <= norm_ring.MOST_SLOTS // ring.groups
        assert ring.shared_bytes <= shared_bytes - norm_ring.STATIC_SHARED_BYTES
        assert ring.shared_bytes >= 2 * ring.groups * ring.stages * ring.stage_bytes
        assert ring.groups * threads == norm_ring.THREADS
        assert (blocks - 1) * ring.length < cols <= blocks * ring.length
        assert ring.length * element_size % 16 == 0
        assert ring.length * element_size <= 16 * norm_ring.PACKS * threads
        for rows in (1, 5, 10_000):
            for multiprocessors in MULTIPROCESSORS:
                assert ring.blocks(rows, multiprocessors) % blocks == 0
                assert ring.blocks(rows, multiprocessors) >= blocks
    assert shared_bytes < MOST_SHARED["Hopper"] or chosen == set(groups)


@pytest.mark.parametrize("rows_at_once", [1, 132, 264])
def test_clusters_cover_a_row(rows_at_once: int) -> None:
    most = 32 * 1024
    for rows, cols in SHAPES:
        found = cluster_pieces(rows, cols, most, rows_at_once, (9, 0))
        assert cluster_pieces(rows, cols, most, rows_at_once, (8, 9)) is None
        if found is None:
            assert cols > 8 * most
            continue
        length, blocks = found
        assert blocks in (2, 4, 8)
        assert cols <= length * blocks
        assert length <= most
        assert length % 16 == 0
        if blocks < 8:
            assert rows * blocks >= rows_at_once


@pytest.mark.parametrize("most", [8, 16])
def test_clusters_of_the_gradient_of_softmax_hold_a_row(most: int) -> None:
    module = load_module(LIBRARY / "softmax_backward/cuda_registers.py")
    for rows, packs in product(
        (1, 5, 60, 140, 703, 100_000), (769, 2049, 4651, 8223, 18_432, 25_807, 36_864)
    ):
        found = module.cluster_of(rows, packs, 132, most)
        if found is None:
            assert packs > most * 6 * 384
            continue
        most_threads, _ = module.CLUSTER_PACKS[found.packs]
        assert found.blocks <= most
        assert found.threads <= most_threads
        # A piece is whole sixteens of columns, which are four packs at most.
        of_block = -(-packs // found.blocks // 4) * 4
        assert of_block <= found.threads * found.packs


@pytest.mark.parametrize(
    ("rows", "packs", "cluster"),
    [
        (27, 2507, (8, 4)),
        (5, 12_415, (16, 4)),
        (317, 16_942, (16, 4)),
        (268, 5906, (8, 4)),
        (464, 2545, (4, 4)),
    ],
)
def test_blocks_of_a_cluster_have_enough_of_a_row(rows: int, packs: int, cluster: tuple[int, int]) -> None:
    module = load_module(LIBRARY / "softmax_backward/cuda_registers.py")
    assert module.cluster_of(rows, packs, 132)[:2] == cluster
