"""Products of a long A and little of B from rows that begin anywhere, on a GPU: by whole rows."""

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

from roofscope.kernels.shared import narrow_sums

KERNELS = ["matmul", "matmul_relu", "matmul_bias_gelu"]
# Every width, rows of ones and of twos, one slice of k and several, whole groups of rows and others.
SIZES = [
    *(
        (1000 + n, n, 17 + n % 5)
        for n in (1, 8, 31, 33, 64, 77, 96, 121, 128, 129, 192, 255, 379, 384, 410, 511)
    ),
    (1, 5, 1),
    (15, 17, 16),
    (16, 512, 128),
    (15282, 77, 31),
    (65, 100, 127),
]


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("name", KERNELS)
def test_whole_rows_are_right(name: str, dtype: Dtype) -> None:
    program, kernel = hopper_program(name, "cuda_wgmma", dtype), CATALOG.kernel(name)
    assert kernel is not None
    for m, n, k in SIZES:
        a, b, *extra = random_inputs(kernel, {"m": m, "n": n, "k": k}, dtype, device="cuda")
        assert narrow_sums.takes(a, b)
        result = narrow_sums.multiply_narrow_sums(program, a, b, a.dtype, *extra)
        error = relative_error((result,), reference(kernel, (a, b, *extra)))
        assert error <= kernel.spec.tolerance.of(dtype), f"{m} x {n} x {k}"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_stays_in_its_row(value: float) -> None:
    program: Any = hopper_program("matmul", "cuda_wgmma", Dtype.BFLOAT16)
    for m, n, k in SIZES:
        around = torch.full((m * k + 128,), value, dtype=torch.bfloat16, device="cuda")
        a = around[64 : 64 + m * k].view(m, k)
        a[::2] = torch.randn_like(a[::2])
        b = torch.randn(k, n, dtype=torch.bfloat16, device="cuda")
        expected = a[::2].double() @ b.double()
        result = narrow_sums.multiply_narrow_sums(program, a, b, a.dtype)
        assert relative_error((result[::2],), (expected,)) < 0.01, f"{m} x {n} x {k}"
        assert not result[1::2].isfinite().any()
