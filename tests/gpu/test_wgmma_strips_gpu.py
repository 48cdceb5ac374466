"""Products of few rows by strips of B, on a Hopper GPU: right wherever shares begin, and always alike."""

import math
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.gpu.programs import STRIPS_KERNELS, strips_program
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared.wgmma_strips import CLUSTERS, STRIPS, multiply_strips

WAYS = [(strips, cluster) for strips in STRIPS for cluster in (1, *CLUSTERS)]
# One row, and every number of rows of a kernel; strips that end amid a box, and clusters whose last blocks
# have no columns; k of less than a step, and of no whole steps; shares of less than a strip, and of several.
SIZES = [
    (1, 8, 8),
    (1, 2056, 1000),
    (5, 64, 4104),
    (8, 72, 64),
    (9, 136, 200),
    (13, 4104, 2056),
    (16, 1024, 1024),
    (17, 520, 3000),
    (24, 4424, 776),
    (25, 40, 72),
    (31, 18504, 520),
    (32, 2048, 2048),
]


def strips_of(name: str, dtype: Dtype) -> Any:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("wgmma is Hopper's")
    return strips_program(name, dtype)


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("name", STRIPS_KERNELS)
def test_strips_are_right(name: str, dtype: Dtype) -> None:
    """By blocks of every width, alone and in every cluster; and a second time, bit by bit."""
    program, kernel = strips_of(name, dtype), CATALOG.kernel(name)
    assert kernel is not None
    for m, n, k in SIZES:
        a, b, *extra = random_inputs(kernel, {"m": m, "n": n, "k": k}, dtype, device="cuda")
        expected = reference(kernel, (a, b, *extra))
        for strips, cluster in WAYS:
            results = [
                multiply_strips(program, a, b, a.dtype, *extra, strips=strips, cluster=cluster)
                for _ in range(3)
            ]
            error = relative_error((results[0],), expected)
            assert error <= kernel.spec.tolerance.of(dtype), f"{m} x {n} x {k} by {strips} and {cluster}"
            assert all(torch.equal(result, results[0]) for result in results[1:])


def test_so_many_shares_of_each_strip_are_right() -> None:
    """Of one nothing is added; more than a GPU has room for at once start in order."""
    program = strips_of("matmul", Dtype.BFLOAT16)
    for m, n, k in SIZES:
        a, b = (torch.randn(size, dtype=torch.bfloat16, device="cuda") for size in ((m, k), (k, n)))
        expected = a.double() @ b.double()
        for strips, cluster in WAYS:
            count, steps = -(-n // (strips.columns * cluster)), -(-k // 64)
            for each in {1, min(3, steps), min(7, steps)}:
                results = [
                    multiply_strips(
                        program, a, b, a.dtype, strips=strips, cluster=cluster, shares=count * each
                    )
                    for _ in range(3)
                ]
                error = relative_error((results[0],), (expected,))
                assert error < 0.01, f"{m} x {n} x {k} by {strips}, {cluster} and {each}"
                assert all(torch.equal(result, results[0]) for result in results[1:])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_stays_in_its_column(value: float) -> None:
    """Though a box has columns behind those of B, and rows, or what lies around it."""
    program = strips_of("matmul", Dtype.BFLOAT16)
    for m, n, k in SIZES:
        around = torch.full((k * n + 128,), value, dtype=torch.bfloat16, device="cuda")
        b = around[64 : 64 + k * n].view(k, n)
        b[:, ::2] = torch.randn_like(b[:, ::2])
        a = torch.randn(m, k, dtype=torch.bfloat16, device="cuda")
        expected = a.double() @ b[:, ::2].double()
        for strips, cluster in WAYS:
            result = multiply_strips(program, a, b, a.dtype, strips=strips, cluster=cluster)
            error = relative_error((result[:, ::2],), (expected,))
            assert error < 0.01, f"{m} x {n} x {k} by {strips} and {cluster}"
            assert not result[:, 1::2].isfinite().any()


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_graph_runs_again(cluster: int) -> None:
    """With the same ticket, which no word of the sums holds any more."""
    program = strips_of("matmul", Dtype.BFLOAT16)
    a = torch.randn(11, 3000, dtype=torch.bfloat16, device="cuda")
    b = torch.randn(3000, 2056, dtype=torch.bfloat16, device="cuda")
    others = torch.randn_like(b)
    first, second = (
        multiply_strips(program, a, of_b, a.dtype, strips=STRIPS[0], cluster=cluster) for of_b in (b, others)
    )
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = multiply_strips(program, a, b, a.dtype, strips=STRIPS[0], cluster=cluster)
    for of_b, expected in ((b.clone(), first), (others, second), (b.clone(), first)):
        b.copy_(of_b)
        graph.replay()
        assert torch.equal(result, expected)
