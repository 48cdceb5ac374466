"""Gradients of the weighted sum of rows on a GPU, on both sides of where another kernel is taken."""

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import (
    implementations,
    name_of,
    random_inputs,
    reference,
    relative_error,
)

VERSIONS = [
    pair
    for pair in implementations(Provider.CUDA)
    if pair[0].spec.name == "weighted_sum_backward" and pair[1].stem == "cuda_phases"
]
SHAPES = (  # rows, columns: a column a thread, packs, parts that one to eight threads add up
    *((1, 1), (3, 8), (8, 129), (9, 1999), (16, 33_001), (17, 33_001), (17, 34_001), (32, 34_001)),
    *((10, 250_723), (14, 383_614), (9, 600_001), (33, 40_001), (40, 200_001), (48, 100_001)),
    *((300, 20_001), (2000, 300)),
    # A ring, with rows that are no whole run; single columns; packs; dx as one run and row by row.
    *((47_485, 431), (30_002, 115), (14_431, 3343), (20_001, 4096), (5003, 2049), (62_831, 33), (2402, 520)),
    *((70_001, 3), (100_001, 2), (50_001, 1), (4097, 129), (249, 985), (3001, 4099), (9001, 260)),
    *((2964, 7575), (1201, 9998), (333, 20_003)),  # long rows, a column a thread
)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), VERSIONS, ids=name_of)
def test_each_kernel(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    call = built(kernel, version, dtype)
    for rows, cols in SHAPES:
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        first = [result.clone() for result in call(*inputs)]
        results = call(*inputs)  # which starts while the first one ends
        error = relative_error(results, reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"
        assert all(map(torch.equal, first, results))
