"""Sums of few long rows by clusters, weighted or not, on a GPU of Hopper."""

import pytest
import torch

from roofscope.kernels.shared import cluster_row_sums
from roofscope.kernels.shared.cluster_row_sums import ACCESSES, ClusterSums, launch_cluster_sums
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program

STEMS = {"row_sum": "cuda_pieces", "weighted_sum": "cuda_row"}
TOLERANCE = 2e-5  # of the sum of what is added, without its signs


def summed(name: str, shape: ClusterSums, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """What the kernel of this shape gives; twice, as the second call starts while the first one ends."""
    program, y = hopper_program(name, STEMS[name], Dtype.FLOAT32), x.new_full((len(x),), 7.0)
    vectors = [w] if name == "weighted_sum" else []
    for _ in range(2):
        launch_cluster_sums(program, name, shape, x, *vectors, y)
    return y


def assert_is_sum(name: str, shape: ClusterSums, x: torch.Tensor, w: torch.Tensor) -> None:
    """Against the products' sum in float64."""
    terms = x.double() * (w.double() if name == "weighted_sum" else 1.0)
    error = (summed(name, shape, x, w).double() - terms.sum(1)).abs()
    assert (error <= TOLERANCE * terms.abs().sum(1)).all(), f"{tuple(x.shape)} by {shape}"


@pytest.mark.parametrize("name", STEMS)
@pytest.mark.parametrize("width", ACCESSES)
def test_clusters_of_any_size_add_up_rows(name: str, width: int) -> None:
    """A part that threads hold, a little less of the last one, and blocks that have nothing of the row."""
    for each in ACCESSES[width]:
        for blocks, threads, rows in ((2, 32, 3), (8, 96, 5), (16, 128, 66), (16, 512, 2)):
            part = threads * each * width
            for cols in (
                blocks * part,
                blocks * part - width,
                (blocks - 1) * part + width,
                part,
                width,
                part + 3 * width,
            ):
                x, w = torch.randn(rows, cols, device="cuda"), torch.randn(cols, device="cuda")
                assert_is_sum(name, ClusterSums(blocks, threads, each, width, part), x, w)


@pytest.mark.parametrize("name", STEMS)
def test_clusters_add_up_rows_as_chosen(name: str) -> None:
    program = hopper_program(name, STEMS[name], Dtype.FLOAT32)
    for rows, cols in (
        *((7, 16_049), (1, 4097), (46, 17_436), (13, 25_621), (23, 19_606), (2, 59_682), (1, 65_536)),
        *((34, 57_352), (49, 30_001), (50, 30_001), (66, 31_775), (61, 11_163)),
    ):
        for begins in (0, 1, 2):  # of 16 bytes, or not
            x = torch.randn(rows * cols + begins, device="cuda")[begins:].view(rows, cols)
            w = torch.randn(cols, device="cuda")
            shape = cluster_row_sums.cluster_of_rows(program, x, w)
            assert shape
            assert_is_sum(name, shape, x, w)


@pytest.mark.parametrize("name", STEMS)
def test_what_is_no_number_stays_in_its_row(name: str) -> None:
    """Threads without an element of a row load the row's first one, and do not add it."""
    shape = ClusterSums(8, 96, 8, 1, 768)
    x, w = torch.randn(3, 4099, device="cuda"), torch.rand(4099, device="cuda")
    x[0, 0], x[1, -1] = torch.nan, torch.inf
    y = summed(name, shape, x, w)
    assert y.isnan().tolist() == [True, False, False]
    assert y.isinf().tolist() == [False, True, False]
    w[0] = torch.inf
    if name == "weighted_sum":
        expected = (x[1:].double() * w.double()).sum(1).float()
        torch.testing.assert_close(summed(name, shape, x[1:].contiguous(), w), expected, equal_nan=True)
