"""Products of a large B of odd rows, taken as they lie, on a Hopper GPU: no neighbour is in them."""

import math
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared.wgmma_class_sums import CLUSTERS, TILES, multiply_class_sums
from roofscope.kernels.shared.wgmma_classes import classes_of

KERNELS = ["matmul", "matmul_relu", "matmul_bias_gelu"]
# Every number of classes and of elements in front of a row; classes of no, one and many steps; several tiles
# above and beside each other, whole ones and others; rows of A that begin anywhere.
SIZES = [
    *((33 + rest, n, 515 + rest) for rest, n in enumerate((129, 130, 131, 132, 133, 134, 135))),
    (1, 9, 8),
    (5, 121, 9),
    (64, 119, 777),
    (91, 1234, 1100),
    (200, 999, 2048),
    (257, 250, 64),
    (439, 1337, 1115),
]


def ways(n: int) -> list[tuple[Any, int]]:
    return [(tile, cluster) for tile in TILES for cluster in CLUSTERS if cluster % classes_of(n) == 0]


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("name", KERNELS)
def test_sums_of_all_classes_are_right(name: str, dtype: Dtype) -> None:
    """By every tile, and by clusters of which a class has one block or several."""
    program, kernel = hopper_program(name, "cuda_wgmma", dtype), CATALOG.kernel(name)
    assert kernel is not None
    for m, n, k in SIZES:
        a, b, *extra = random_inputs(kernel, {"m": m, "n": n, "k": k}, dtype, device="cuda")
        expected = reference(kernel, (a, b, *extra))
        for tile, cluster in ways(n):
            result = multiply_class_sums(program, a, b, a.dtype, *extra, tile=tile, cluster=cluster)
            error = relative_error((result,), expected)
            assert error <= kernel.spec.tolerance.of(dtype), f"{m} x {n} x {k} by {tile} and {cluster}"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_stays_in_its_column(value: float) -> None:
    """Though a box has columns of the rows in front of a row and behind it, or of what lies around B."""
    program: Any = hopper_program("matmul", "cuda_wgmma", Dtype.BFLOAT16)
    for m, n, k in SIZES:
        around = torch.full((k * n + 128,), value, dtype=torch.bfloat16, device="cuda")
        b = around[64 : 64 + k * n].view(k, n)
        b[:, ::2] = torch.randn_like(b[:, ::2])
        a = torch.randn(m, k, dtype=torch.bfloat16, device="cuda")
        expected = a.double() @ b[:, ::2].double()
        for tile, cluster in ways(n):
            result = multiply_class_sums(program, a, b, a.dtype, tile=tile, cluster=cluster)
            error = relative_error((result[:, ::2],), (expected,))
            assert error < 0.01, f"{m} x {n} x {k} by {tile} and {cluster}"
            assert not result[:, 1::2].isfinite().any()


def test_a_graph_runs_again() -> None:
    program: Any = hopper_program("matmul", "cuda_wgmma", Dtype.BFLOAT16)
    a = torch.randn(61, 1003, dtype=torch.bfloat16, device="cuda")
    b = torch.randn(1003, 3001, dtype=torch.bfloat16, device="cuda")
    first = multiply_class_sums(program, a, b, a.dtype, tile=TILES[0], cluster=8)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = multiply_class_sums(program, a, b, a.dtype, tile=TILES[0], cluster=8)
    for _ in range(3):
        result.zero_()
        graph.replay()
        assert torch.equal(result, first)
