"""Kernels over rows that start while the one in front ends: none touches memory before that has, on a GPU."""

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.domain import is_inside
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.failures import Refusal
from roofscope.profiling.worker.inputs import as_tuple
from roofscope.tests.kernels.cases import (
    Tensors,
    implementations,
    name_of,
    random_inputs,
    reference,
    relative_error,
)

KERNELS = (
    *("cross_entropy", "rms_norm", "layer_norm", "add_rms_norm", "softmax", "rms_norm_quantize_fp8"),
    *("rms_norm_backward", "layer_norm_backward", "softmax_backward"),
    *("row_sum", "weighted_sum", "weighted_sum_backward", "cumsum"),
    *("quantize_int8", "dequantize_int8", "transpose"),
)
# Not the naive ones, which start no call early: sums of long rows one by one lose too much in float32.
VERSIONS = [
    (kernel, version)
    for kernel, version in implementations(Provider.CUDA)
    if kernel.spec.name in KERNELS and version.variant != "naive"
]
SHAPES = (  # rows, columns: short and long rows, few and many, of whole 16 bytes or not
    *((7, 33), (1000, 96), (4101, 45), (130, 1031), (600, 1024), (1001, 84)),
    *((70_001, 15), (70_001, 16), (12, 5000), (1, 9_000_001)),
    *((3, 20001), (38, 11972), (2, 70003), (1, 131_072), (2, 300_001), (3, 1_200_000)),
)


@pytest.mark.parametrize(("kernel", "version"), VERSIONS, ids=name_of)
def test_a_call_waits_for_the_kernel_in_front(kernel: Kernel, version: Implementation) -> None:
    """In a graph, kernels write the inputs of each two calls, of which the second follows the first."""
    for dtype in (Dtype.BFLOAT16, Dtype.FLOAT32):
        if dtype not in kernel.spec.dtypes:
            continue
        workload = Workload(kernel.spec.name, dtype, {})
        try:
            request = BuildRequest(version, kernel.folder, workload, torch.device("cuda", 0))
            run = providers.build(request).call
        except Refusal as refusal:
            pytest.skip(str(refusal))
        for rows, cols in SHAPES:
            sizes = {"rows": rows, "cols": cols}
            if not is_inside(version.domain, sizes, dtype):
                continue
            try:
                sources = random_inputs(kernel, sizes, dtype, device="cuda")
                run(*sources)
            except Refusal:
                continue
            others = tuple(tensor.flip(0) for tensor in sources)  # rows of which each keeps what is its own
            inputs = tuple(map(torch.clone, sources))
            graph, outputs = torch.cuda.CUDAGraph(), list[Tensors]()
            with torch.cuda.graph(graph):
                for written in (others, sources, others):
                    for to, of in zip(inputs, written, strict=True):
                        torch.add(of, 0, out=to)
                    run(*inputs)
                    outputs.append(as_tuple(run(*inputs)))
            graph.replay()
            torch.cuda.synchronize()
            for written, results in zip((others, sources, others), outputs, strict=True):
                error = relative_error(results, reference(kernel, written))
                assert error <= kernel.spec.tolerance.of(dtype), f"{dtype} {rows} x {cols}"
