"""Products of FP8 from rows that begin anywhere: which tile is chosen, and how it is launched."""

import re
from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.worker.failures import Refusal

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.matmul_fp8_blocks import cuda_halves_pitched, scaled_blocks
from roofscope.kernels.matmul_fp8_blocks.cuda_wgmma import run as run_of_blocks
from roofscope.kernels.shared.limits import shared_limit
from roofscope.kernels.shared.loose_fp8 import (
    CLUSTERS,
    SHORT_TILES,
    TILES,
    WordsTile,
    best,
    best_short,
    launch,
    launch_short,
)
from roofscope.tests.kernels.recorder import Recorder

MULTIPROCESSORS = 132


def inputs(m: int, n: int, k: int) -> tuple[torch.Tensor, ...]:
    a, b = (torch.empty(rows, k, dtype=torch.float8_e4m3fn) for rows in (m, n))
    return a, b, torch.empty(-(-k // 128), m), torch.empty(-(-n // 128), -(-k // 128))


def test_tiles_fit_a_multiprocessor() -> None:
    """And sums of all warps and blocks fit where their factors were."""
    limit = shared_limit(torch.device("cpu"))
    for tile in TILES:
        assert tile.shared_bytes * tile.at_once <= limit
        assert tile.warps_k * tile.rows * (tile.columns + 8) * 4 <= tile.shared_bytes
    assert len({tile.name for tile in TILES}) == len(TILES)


def test_blocks_of_a_cluster_share_k_in_whole_steps() -> None:
    tile = TILES[0]
    for cluster in CLUSTERS:
        recorder: Any = Recorder()
        assert launch(recorder, tile, cluster, *inputs(17, 65, 9000)).shape == (17, 65)
        ((name, grid, sizes, shared),) = recorder.launches
        assert (name, grid, shared) == (tile.name, tile.count(17, 65) * cluster, cluster)
        assert sizes[:3] == [17, 65, 9000]
        assert sizes[3] % tile.step == 0
        assert sizes[3] * cluster >= 9000


def test_rows_that_begin_amid_words_of_4_bytes_have_a_kernel_of_their_own() -> None:
    recorder: Any = Recorder()
    for k in (128, 132, 129, 130):
        launch(recorder, TILES[0], 1, *inputs(17, 65, k))
    a, *others = inputs(18, 65, 128)
    launch(recorder, TILES[0], 1, a.view(-1)[2:-126].view(17, 128), *others)
    assert [name.endswith("_amid") for name, *_ in recorder.launches] == [False, False, True, True, True]


def test_tiles_of_short_sums_fit_a_multiprocessor() -> None:
    limit = shared_limit(torch.device("cpu"))
    for tile in SHORT_TILES:
        for k in (1, 16, 17, 127, 128):
            assert tile.shared_bytes(k) <= limit
    assert len({tile.name for tile in SHORT_TILES}) == len(SHORT_TILES)


@pytest.mark.parametrize("m", [100, 5000, 50000])
def test_tiles_of_short_sums_cover_c(m: int) -> None:
    for tile in SHORT_TILES:
        recorder: Any = Recorder()
        assert launch_short(recorder, tile, *inputs(m, 1001, 40)).shape == (m, 1001)
        ((name, grid, sizes, _),) = recorder.launches
        assert (name, sizes[:3]) == (tile.name, [m, 1001, 40])
        if isinstance(tile, WordsTile):
            assert 1 <= grid <= tile.at_once * MULTIPROCESSORS
            assert grid == min(grid, -(-m // 256) * 2 * tile.across(1001))
            continue
        rows, across = grid
        # Tiles beside each other have a word of 16 bytes in common.
        assert across * (tile.columns - 8) + 8 >= 1001
        assert 1 <= rows <= -(-m // tile.rows)
        assert rows * across <= max(tile.at_once * MULTIPROCESSORS, across)


@pytest.mark.parametrize(
    ("n", "across"), [(1, 1), (241, 1), (242, 2), (256, 1), (497, 2), (498, 3), (512, 2)]
)
def test_tiles_that_begin_with_a_sector_of_each_row_cover_it(n: int, across: int) -> None:
    """A row that begins up to 15 elements behind one has as many columns less in its first tile."""
    (words,) = (tile for tile in SHORT_TILES if isinstance(tile, WordsTile))
    assert words.across(n) == across
    most_past = max(row * n % 16 for row in range(16))
    assert across * words.columns - most_past >= n


@pytest.mark.parametrize(
    ("m", "n", "k", "columns"),
    [
        (274, 241, 27, None),  # little of C: small loose tiles fill more multiprocessors
        (500, 400, 64, 64),  # which read words of theirs as fast
        (2740, 241, 27, 64),
        (1201, 601, 126, 64),
        (7461, 354, 58, 128),
        (500, 9001, 120, 128),
        (3001, 3003, 65, 256),
        (1_000_000, 33, 90, 64),  # a wider tile would have columns of nothing
        (1_000_000, 65, 90, 128),
        (16, 3003, 65, None),
        (3001, 3003, 129, None),
        (17, 2**31 - 2**13, 16, None),  # more blocks beside each other than a grid has
    ],
)
def test_short_sums_take_wider_tiles_the_larger_c_is(m: int, n: int, k: int, columns: int | None) -> None:
    tile = best_short(m, n, k, MULTIPROCESSORS)
    assert (tile and tile.columns) == columns


def test_much_of_c_is_stored_by_words_where_a_tile_has_not_all_columns() -> None:
    names = [best_short(m, n, 41, MULTIPROCESSORS) for m, n in ((10639, 14697), (100_000, 250), (500, 9001))]
    assert [tile and tile.name for tile in names] == ["short_words", "short_64x256", "short_64x128"]


def test_few_tiles_are_shared_and_many_are_not() -> None:
    assert best(34, 35, 29893, MULTIPROCESSORS)[1] > 4
    assert best(4000, 4100, 37, MULTIPROCESSORS)[1] == 1


def test_nothing_is_launched_for_no_element(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_hopper(*_: object) -> None:
        pass

    monkeypatch.setattr("roofscope.kernels.matmul_fp8_blocks.scaled_blocks.needs_hopper", is_hopper)
    no_program: Any = None
    for m, n in ((0, 64), (24, 0)):
        a, b = (torch.empty(rows, 256).to(torch.float8_e4m3fn) for rows in (m, n))
        scale_a, scale_b = torch.empty(2, m), torch.empty(-(-n // 128), 2)
        assert run_of_blocks(no_program, a, b, scale_a, scale_b).shape == (m, n)


def test_odd_columns_of_blocks_go_into_wider_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller gets the first columns; the map of C is that of the wider rows, and no thread has C."""
    launches: list[tuple[str, tuple[Any, ...]]] = []
    recorder: Any = Recorder()
    recorder.launch = lambda name, _, __, *arguments, **___: launches.append((name, arguments))
    monkeypatch.setattr(scaled_blocks, "needs_hopper", lambda *_: None)
    monkeypatch.setattr(scaled_blocks, "tensor_map", lambda matrix, box: (tuple(matrix.shape), box))
    c = cuda_halves_pitched.run(recorder, *inputs(4841, 12077, 109))
    assert (tuple(c.shape), c.stride()) == ((4841, 12077), (12096, 1))
    _, (name, (a_map, b_map, c_map, _, _, *sizes)) = launches
    assert (name, a_map[0], b_map[0]) == ("tile_128x256_pair", (4841, 128), (12077, 128))
    assert c_map == ((4841, 12096), (64, 64))
    assert sizes == [4841, 12077, 109]
    with pytest.raises(Refusal, match="cuda_halves stores the others"):
        cuda_halves_pitched.run(recorder, *inputs(4841, 12080, 109))


def test_wider_rows_have_the_tiles_that_are_compiled() -> None:
    source = (LIBRARY / "matmul_fp8_blocks" / "cuda_halves_pitched.cu").read_text()
    compiled = re.findall(r"^MULTIPLY_BLOCKS\((\w+), (\d), (\d), (\d)\)", source, re.MULTILINE)
    tiles = cuda_halves_pitched.TILES.items()
    assert compiled == [
        (name, str(tile.columns // 128), str(tile.stages), str(tile.cluster)) for name, tile in tiles
    ]
    assert all(tile.shared_bytes <= shared_limit(torch.device("cpu")) for _, tile in tiles)


@pytest.mark.parametrize(
    ("m", "n", "k", "is_even"),
    [(10_639, 14_697, 41, True), (4000, 4001, 16, False), (8192, 8192, 64, False), (300, 30_001, 33, False)],
)
def test_many_odd_rows_have_as_many_blocks_for_each_column_of_words(
    m: int, n: int, k: int, is_even: bool
) -> None:
    (words,) = (tile for tile in SHORT_TILES if isinstance(tile, WordsTile))
    blocks, all_at_once = words.grid(m, n, k, 132), words.together(k) * 132
    assert all_at_once - words.across(n) < blocks <= all_at_once
    assert (blocks % words.across(n) == 0) == is_even
