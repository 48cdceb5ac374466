"""Copies and other maps on a GPU at the lengths that launchers tell apart, wherever inputs begin."""

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

pytestmark = [
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, while it compiles
]

VERSIONS = list(implementations(Provider.TRITON, Provider.CUDA))
COPIES = [pair for pair in VERSIONS if pair[0].spec.name == "copy"]
MAPS = [pair for pair in VERSIONS if pair[0].spec.name in ("vector_add", "swish")]
BIASED = [pair for pair in VERSIONS if pair[0].spec.name == "bias_gelu"]


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


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), MAPS, ids=name_of)
def test_maps_of_about_two_waves_are_right(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    call = built(kernel, version, dtype)
    pack = 4 if dtype is Dtype.FLOAT32 else 8  # elements of 16 bytes
    wave = torch.cuda.get_device_properties(0).multi_processor_count * 2048 * pack
    for n in (wave * 3 // 4 + 1, wave + 1, wave * 3 // 2 + 1, 2 * wave - 3, 2 * wave, 2 * wave + 1):
        inputs = random_inputs(kernel, {"n": n + 1}, dtype, device="cuda")
        for offset in (0, 1):
            given = tuple(x[offset : offset + n] for x in inputs)
            error = relative_error(call(*given), reference(kernel, given))
            assert error <= kernel.spec.tolerance.of(dtype), (n, offset)


@pytest.mark.parametrize(("kernel", "version"), BIASED, ids=name_of)
def test_a_long_bias_meets_its_columns(kernel: Kernel, version: Implementation) -> None:
    """Of rows up to 16 side by side, of more, and of whole tiles or not."""
    call = built(kernel, version, Dtype.FLOAT32)
    for rows, cols in ((3, 1_060_003), (16, 1_049_088), (17, 1_049_088), (33, 1_048_577)):
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, Dtype.FLOAT32, device="cuda")
        error = relative_error(call(*inputs), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.float32, (rows, cols)
