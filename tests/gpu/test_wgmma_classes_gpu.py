"""Products of a tall A of odd rows, taken as they lie, on a Hopper GPU: nothing of a neighbour is in them."""

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

from roofscope.kernels.shared.wgmma_classes import multiply_classes

KERNELS = ["matmul", "matmul_relu", "matmul_bias_gelu"]
CLUSTERS = [1, 2, 4, 8]
# Every number of classes, of elements in front of a row and of rows that are left; one step along k and many;
# all widths of tiles, whole ones and others.
SIZES = [
    *((1024 + rest, 26, k) for rest, k in enumerate((65, 66, 67, 68, 69, 70, 71, 121, 127))),
    (8, 1, 1),
    (9, 5, 777),
    (300, 64, 3),
    (1025, 33, 1022),
    (1031, 200, 1004),
    (2049, 128, 511),
    (517, 255, 2500),
    (7773, 26, 562),
]


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("name", KERNELS)
def test_rows_of_each_class_are_right(name: str, dtype: Dtype) -> None:
    """By tiles of one block, and by those that a cluster shares."""
    program, kernel = hopper_program(name, "cuda_wgmma", dtype), CATALOG.kernel(name)
    assert kernel is not None
    for m, n, k in SIZES:
        a, b, *extra = random_inputs(kernel, {"m": m, "n": n, "k": k}, dtype, device="cuda")
        expected = reference(kernel, (a, b, *extra))
        for cluster in CLUSTERS:
            result = multiply_classes(program, a, b, a.dtype, *extra, cluster=cluster)
            error = relative_error((result,), expected)
            assert error <= kernel.spec.tolerance.of(dtype), f"{m} x {n} x {k} by {cluster}"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_stays_in_its_row(value: float) -> None:
    """Though a box has elements of the rows in front of a row and behind it, or of what lies around A."""
    program: Any = hopper_program("matmul", "cuda_wgmma", Dtype.BFLOAT16)
    for m, n, k in SIZES:
        around = torch.full((m * k + 128,), value, dtype=torch.bfloat16, device="cuda")
        a = around[64 : 64 + m * k].view(m, k)
        a[::2] = torch.randn_like(a[::2])
        b = torch.randn(k, n, dtype=torch.bfloat16, device="cuda")
        expected = a[::2].double() @ b.double()
        for cluster in CLUSTERS:
            result = multiply_classes(program, a, b, a.dtype, cluster=cluster)
            assert relative_error((result[::2],), (expected,)) < 0.01, f"{m} x {n} x {k} by {cluster}"
            assert not result[1::2].isfinite().any()


def test_a_graph_runs_again() -> None:
    program: Any = hopper_program("matmul", "cuda_wgmma", Dtype.BFLOAT16)
    a = torch.randn(3001, 1003, dtype=torch.bfloat16, device="cuda")
    b = torch.randn(1003, 61, dtype=torch.bfloat16, device="cuda")
    first = multiply_classes(program, a, b, a.dtype, cluster=4)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = multiply_classes(program, a, b, a.dtype, cluster=4)
    for _ in range(3):
        result.zero_()
        graph.replay()
        assert torch.equal(result, first)
