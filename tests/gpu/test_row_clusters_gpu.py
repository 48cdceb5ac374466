"""Rows that a cluster of blocks shares, by each way that row_parts.py chooses, on a GPU."""

import pytest

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import implementations, name_of, random_inputs, reference, relative_error

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it compiles

CLUSTERS = [pair for pair in implementations(Provider.CUDA) if pair[1].stem == "cuda_cluster"]
SHAPES = (  # rows, columns; of either parity, as rows then begin at one alignment or at all
    *((3, 5), (2, 4096), (300, 4099)),  # one block, in registers
    *(
        (40, 9356),
        (5, 65536),
        (5, 65537),
        (100, 20001),
        (6, 194_382),
    ),  # of 2 to 16 blocks, 2 or 4 packs of a thread
    *((200, 20001), (66, 65536), (100, 65536), (2, 300001)),  # few rows, of the norms in shared memory
    *((1200, 30080), (500, 40001), (400, 70001), (70, 262145)),  # many, by 1 to 16 blocks
)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), CLUSTERS, ids=name_of)
def test_rows_by_clusters_of_any_size(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    call = built(kernel, version, dtype)
    for rows, cols in SHAPES:
        if kernel.spec.name == "softmax" and dtype is Dtype.FLOAT16 and cols > 2**17:
            continue  # about 1 / cols, of which float16 has six bits and fewer
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        call(*inputs)
        results = call(*inputs)  # which starts while the first one ends
        error = relative_error(results, reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"
