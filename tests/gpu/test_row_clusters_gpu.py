"""Rows that a cluster of blocks shares, by each way that row_parts.py chooses, on a GPU."""

import pytest
import torch

from roofscope.kernels.shared.row_parts import _HELD_SIZES, HeldShape, launch_held
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.programs import hopper_program
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


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), CLUSTERS, ids=name_of)
def test_rows_by_clusters_that_the_compiler_knows(
    kernel: Kernel, version: Implementation, dtype: Dtype
) -> None:
    """Every size of held_rows.cuh, with all that a block holds, a few elements less, and next to nothing."""
    name = kernel.spec.name
    program = hopper_program(name, version.stem, dtype)
    pack = 16 // torch.tensor([], dtype=getattr(torch, dtype)).element_size()
    for blocks, packs in _HELD_SIZES:
        for threads in (32, 96, 256):
            room = blocks * packs * threads * pack
            for cols in (room, room - 5 * pack, room - 1, room - pack - 1, room // 3 + 1, pack + 3):
                inputs = random_inputs(kernel, {"rows": 2 * pack + 1, "cols": cols}, dtype, device="cuda")
                outputs = tuple(torch.empty_like(inputs[0]) for _ in kernel.spec.outputs)
                shape = HeldShape(blocks, packs, threads)
                launch_held(program, f"{name}_cluster", shape, *inputs, *outputs)
                error = relative_error(outputs, reference(kernel, inputs))
                assert error <= kernel.spec.tolerance.of(dtype), f"{shape}, {cols} columns"
