"""Tiles of products from rows that begin anywhere: what they store, and how they are launched."""

from typing import Any

import pytest
import torch

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared.loose_tiles import (
    LONG_CLUSTERS,
    LONG_TILE,
    SHORT_TILES,
    LooseTile,
    best_long,
    best_short,
    multiply_long_sums,
    multiply_short_sums,
)

MULTIPROCESSORS = 132
TWO_BLOCKS = 227 * 1024 // 2  # of a Hopper multiprocessor's shared memory


class Recorder:
    """Stands for a CudaProgram; keeps what is launched."""

    multiprocessor_count = MULTIPROCESSORS

    def __init__(self) -> None:
        self.launches: list[tuple[str, Any, dict[str, int]]] = []

    def launch(self, name: str, grid: Any, _: int, *__: torch.Tensor | int, **given: int) -> None:
        assert given.pop("overlaps")
        self.launches.append((name, grid, given))


def matrices(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(m, k, dtype=torch.bfloat16), torch.empty(k, n, dtype=torch.bfloat16)


@pytest.mark.parametrize("columns", sorted({tile.columns for tile in SHORT_TILES.values()}))
def test_each_column_is_stored_by_one_tile(columns: int) -> None:
    """Whatever the alignment of a row: loose_tiles.cuh's begin and end, of tiles that overlap."""
    tile = LooseTile(64, columns)
    for n in (
        1,
        columns - 1,
        columns,
        columns + 1,
        columns + 8,
        2 * columns - 8,
        2 * columns - 7,
        5 * columns + 3,
    ):
        count, overlap = tile.across(n), 8 if n % 8 else 0
        for past in range(8) if overlap else (0,):
            stored = [0] * n
            for number in range(count):
                first = number * (columns - overlap)
                begin = first if number == 0 or not overlap else first + 8 - past
                end = n if number == count - 1 else first + columns - (past if overlap else 0)
                assert end <= min(first + columns, n)
                for column in range(begin, end):
                    stored[column] += 1
            assert stored == [1] * n, (n, past)


@pytest.mark.parametrize("name", SHORT_TILES)
@pytest.mark.parametrize("k", [1, 32, 129])
def test_short_sums_fit_a_multiprocessor_twice(name: str, k: int) -> None:
    recorder, tile = Recorder(), SHORT_TILES[name]
    program: Any = recorder
    multiply_short_sums(program, *matrices(50000, 131, k), torch.bfloat16, name=name)
    ((launched, (blocks, columns), given),) = recorder.launches
    assert launched.startswith(f"short_sums_{tile.rows}x{tile.columns}")
    assert columns == tile.across(131)
    if tile.turns:
        assert 2 * MULTIPROCESSORS <= blocks * columns <= 3 * MULTIPROCESSORS
    else:
        assert blocks == -(-50000 // tile.rows)
    assert given == {"shared_bytes": tile.shared_bytes(k)}
    assert tile.fits(50000, 131, k, MULTIPROCESSORS)
    assert given["shared_bytes"] <= TWO_BLOCKS


@pytest.mark.parametrize(("cluster", "shares"), [*((cluster, 1) for cluster in LONG_CLUSTERS), (16, 3)])
def test_blocks_of_clusters_share_long_sums(cluster: int, shares: int) -> None:
    recorder = Recorder()
    program: Any = recorder
    multiply_long_sums(program, *matrices(60, 131, 5000), torch.bfloat16, cluster=cluster, shares=shares)
    ((launched, blocks, given),) = recorder.launches
    assert launched == "long_sums_32x64"
    assert blocks == 2 * LONG_TILE.across(131) * cluster * shares
    assert given.pop("shared_bytes") <= TWO_BLOCKS
    assert given == {"cluster": cluster}


def test_the_choice_follows_the_size() -> None:
    """Small tiles for little C, large ones for much; nothing beyond what was measured."""
    little, much = best_short(60, 60, 30, MULTIPROCESSORS), best_short(5000, 5000, 30, MULTIPROCESSORS)
    assert little is not None
    assert much is not None
    assert SHORT_TILES[little[1]].rows * SHORT_TILES[little[1]].columns <= 64 * 64
    assert SHORT_TILES[much[1]].rows * SHORT_TILES[much[1]].columns >= 128 * 128
    assert best_short(60, 60, 257, MULTIPROCESSORS) is None
    assert best_short(60, 2**23, 30, MULTIPROCESSORS) is not None  # as many blocks as fit beside each other
    for m, n, k, cluster, shares in (
        (60, 60, 3000, 16, 1),
        (60, 60, 14_000, 16, 4),
        (301, 45, 901, 8, 1),
        (1003, 17, 411, 4, 1),
        (25, 1999, 603, 4, 1),
    ):
        long = best_long(m, n, k, MULTIPROCESSORS)
        assert long is not None
        assert long[1:] == (cluster, shares)
    for m, k in ((60, 30_000), (2000, 3000), (9000, 300)):
        assert best_long(m, 60, k, MULTIPROCESSORS) is None, (m, k)
