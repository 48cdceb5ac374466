"""The modes of torch.compile on a GPU: right, and honest about the CUDA graphs that two of them replay."""

import pytest
import torch

from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Built
from roofscope.tests.kernels.cases import CATALOG, as_tuple, random_inputs, reference, relative_error

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles

MODES = ("default", "reduce_overhead", "max_autotune", "max_autotune_no_cudagraphs")
REPLAYING = MODES[1:3]


def built(name: str, mode: str) -> Built:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    version = Implementation(name, Provider.COMPILE, mode, "hash")
    workload = Workload(name, Dtype.FLOAT32, {})
    return providers.build(BuildRequest(version, kernel.folder, workload, torch.device("cuda", 0)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["softmax", "dynamic_flow", "changing_shapes"])
def test_is_right_with_contents_that_change(name: str, mode: str) -> None:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    version = built(name, mode)
    for magnitude in (1.0, 1.0, 2.0, kernel.spec.large_magnitude, 1.0):
        inputs = random_inputs(kernel, kernel.spec.odd_sizes[0], Dtype.FLOAT32, magnitude, "cuda")
        if magnitude == 2.0:  # the other branch of dynamic_flow
            inputs = tuple(-tensor for tensor in inputs)
        error = relative_error(as_tuple(version.call(*inputs)), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.float32


@pytest.mark.parametrize("mode", REPLAYING)
def test_what_replays_a_graph_refuses_to_be_captured_in_one(mode: str) -> None:
    version = built("softmax", mode)
    x = torch.rand(16, 1024, device="cuda")
    for _ in range(3):
        version.call(x)
    with (
        pytest.raises(RuntimeError, match="CUDA graphs of its own"),
        torch.cuda.graph(torch.cuda.CUDAGraph(), capture_error_mode="thread_local"),
    ):
        version.call(x)
