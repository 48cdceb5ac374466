"""TF32 products of rows that begin anywhere by wgmma: how the copy engine sees them."""

import itertools
import math

import pytest
import torch

from roofscope.kernels.matmul_tf32 import amid
from roofscope.kernels.shared.wgmma_plans import best

HOPPER_BYTES = 232_448  # shared memory a block may have
MULTIPROCESSORS = 132


@pytest.mark.parametrize(("m", "k"), list(itertools.product((8, 9, 11, 130), (4, 5, 6, 7, 33))))
def test_every_fourth_row_is_a_matrix_that_begins_at_whole_words(m: int, k: int) -> None:
    """All that a class has lies in X, and its rows are those of X behind as many elements as it says."""
    held = torch.arange(m * k + 8, dtype=torch.float32)
    x = held[4 : 4 + m * k].view(m, k)
    for first, (view, shift) in enumerate(amid.classes(x)):
        offset = view.storage_offset() - x.storage_offset()
        assert offset % 4 == 0 <= offset
        assert view.stride(0) % 4 == 0
        torch.testing.assert_close(view[:, shift:], x[first::4])


def test_takes_what_the_copy_engine_can_begin_at() -> None:
    held = torch.zeros(1000)
    assert amid.takes(held[4:84].view(8, 10))
    assert not amid.takes(held[1:81].view(8, 10))  # what lies before it would be read
    assert not amid.takes(held[:70].view(7, 10))  # a class with one row
    assert not amid.takes(held[:80].view(10, 8).T)


def test_every_tile_fits_hopper() -> None:
    for tile in amid.TILES:
        assert tile.shared_bytes <= HOPPER_BYTES
        assert tile.rows % 64 == 0 == tile.columns % 8


def way_of(m: int, n: int, k: int, multiprocessors: int = MULTIPROCESSORS) -> amid.Way | None:
    _, plan = best(m, n, -(-k // 32), multiprocessors, c_bytes=4)
    a, b = torch.empty((m, k), device="meta"), torch.empty((n, k), device="meta")
    return amid.faster_than_copies(a, b, plan.time_ns, multiprocessors)


@pytest.mark.parametrize(
    ("m", "n", "k", "name", "cluster", "turned"),
    [
        (2005, 143, 4877, "amid_128x144", 4, False),
        (12759, 109, 8175, "amid_128x112", 1, False),
        (111, 10657, 3751, "amid_128x112", 1, True),
        (5001, 501, 1001, "amid_128x192", 1, False),
        (31, 12001, 2501, "amid_64x32", 1, True),
        (701, 97, 12345, "amid_128x112", 16, False),
    ],
)
def test_the_larger_matrix_is_read_as_it_lies(
    m: int, n: int, k: int, name: str, cluster: int, turned: bool
) -> None:
    """By the tile that was the fastest when measured."""
    way = way_of(m, n, k)
    assert way
    assert (way.tile.name, way.cluster, way.turned) == (name, cluster, turned)


def test_both_are_copied_where_both_are_read_often() -> None:
    assert way_of(3001, 3001, 1001) is None


def test_rows_of_whole_words_are_left_to_tiles() -> None:
    assert way_of(12759, 109, 8176) is None
    assert way_of(0, 109, 8175) is None
    assert way_of(7, 5, 8175) is None  # neither has several rows of each class


def test_a_part_of_a_gpu_has_no_room_for_large_clusters() -> None:
    assert math.isinf(amid.time_ns(amid.TILES[0], 16, 64, 32, 12345, 8, turned=False))
    assert amid.best(64, 32, 12345, MULTIPROCESSORS, turned=False).cluster == 16
    assert amid.best(64, 32, 12345, 8, turned=False).cluster < 8
