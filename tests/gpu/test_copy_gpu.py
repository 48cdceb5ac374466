"""Copies on a GPU, bit for bit, at the lengths that launchers tell apart, wherever x begins."""

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import implementations, name_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, while it compiles
]

COPIES = [pair for pair in implementations(Provider.TRITON, Provider.CUDA) if pair[0].spec.name == "copy"]


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), COPIES, ids=name_of)
def test_every_bit_arrives(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """NaN of any kind among them: what moves is not a number."""
    call = built(kernel, version, dtype)
    element, integer = getattr(torch, dtype), torch.int32 if dtype is Dtype.FLOAT32 else torch.int16
    ends = torch.iinfo(integer)
    wave = torch.cuda.get_device_properties(0).multi_processor_count * 2048 * 16 // element.itemsize
    for n in (1, 1023, wave - 1, wave, wave + 1, wave + 4095, 2 * wave - 3, 2 * wave, 2 * wave + 1):
        bits = torch.randint(ends.min, ends.max, (n + 1,), dtype=integer, device="cuda")
        for offset in (0, 1):
            x = bits[offset : offset + n]
            (y,) = call(x.view(element))
            assert torch.equal(y.view(integer), x), (n, offset)
