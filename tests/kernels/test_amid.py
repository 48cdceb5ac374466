"""TF32 products of rows that begin anywhere by wgmma: how the copy engine sees them."""

import itertools
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels.cases import CATALOG

HOPPER_BYTES = 232_448  # shared memory a block may have


def amid() -> Any:
    kernel = CATALOG.kernel("matmul_tf32")
    assert kernel is not None
    return load_module(kernel.folder / "amid.py")


@pytest.mark.parametrize(("m", "k"), list(itertools.product((8, 9, 11, 130), (4, 5, 6, 7, 33))))
def test_every_fourth_row_is_a_matrix_that_begins_at_whole_words(m: int, k: int) -> None:
    """All that a class has lies in X, and its rows are those of X behind as many elements as it says."""
    held = torch.arange(m * k + 8, dtype=torch.float32)
    x = held[4 : 4 + m * k].view(m, k)
    for first, (view, shift) in enumerate(amid().classes(x)):
        offset = view.storage_offset() - x.storage_offset()
        assert offset % 4 == 0 <= offset
        assert view.stride(0) % 4 == 0
        torch.testing.assert_close(view[:, shift:], x[first::4])


def test_takes_what_the_copy_engine_can_begin_at() -> None:
    held = torch.zeros(1000)
    assert amid().takes(held[4:84].view(8, 10))
    assert not amid().takes(held[1:81].view(8, 10))  # what lies before it would be read
    assert not amid().takes(held[:70].view(7, 10))  # a class with one row
    assert not amid().takes(held[:80].view(10, 8).T)


def test_every_tile_fits_hopper() -> None:
    for tile in amid().TILES:
        assert tile.shared_bytes <= HOPPER_BYTES
        assert tile.rows % 64 == 0 == tile.columns % 8
