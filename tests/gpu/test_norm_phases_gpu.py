"""Gradients of the norms in phases, by each kernel that norm_phases.py chooses, on a GPU."""

import pytest

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import implementations, name_of, random_inputs, reference, relative_error

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it compiles

PHASES = [
    pair
    for pair in implementations(Provider.CUDA)
    if pair[1].stem == "cuda_phases" and "norm" in pair[0].spec.name
]
SHAPES = (  # rows, columns; of either parity, as rows then begin at one alignment or at all
    # Few rows in one chunk: of 1 to 8 rows a thread, which are all of its block or leave some warps fewer.
    *((2, 131_969), (3, 243_599), (5, 134_644), (5, 134_640), (8, 131_072), (9, 564_733), (9, 564_736)),
    *((7, 681_230), (10, 177_364), (13, 300_001), (36, 113_841), (60, 70_008), (2, 2_162_689)),
    # Of so many that they have registers for several at a time; and in chunks, few and many.
    *((63, 300_001), (63, 300_008), (70, 70_001), (130, 70_008), (60, 60_001), (200, 8192), (1000, 1031)),
)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), PHASES, ids=name_of)
def test_rows_by_phases_of_any_size(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    call = built(kernel, version, dtype)
    for rows, cols in SHAPES:
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        call(*inputs)
        results = call(*inputs)  # which starts while the first one ends
        error = relative_error(results, reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"
