"""Transposes on a GPU, bit for bit, in the shapes that launchers tell apart, wherever x begins."""

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

TRANSPOSES = [
    pair for pair in implementations(Provider.TRITON, Provider.CUDA) if pair[0].spec.name == "transpose"
]
FEW = (2, 3, 5, 8, 9, 12, 13, 16, 24, 31, 40, 48, 64, 67, 100, 193)
SHAPES = (
    *((few, 1_300_000 // few + few % 2) for few in FEW),
    *((1_300_000 // few + few % 2, few) for few in FEW),
    *((few, 999) for few in range(1, 9)),
    *((999, few) for few in range(1, 9)),
    *((2, 8001), (3, 27_766), (4, 23_636), (6, 20_001)),
    (317, 70_001),
    (13, 40_001),
    (40_001, 13),
    (27_374, 33),
    (45, 20_001),
    (1031, 1033),
    (1312, 1467),
    (4097, 4096),
    (4096, 4097),
    (2052, 2052),
    (2050, 2055),
)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), TRANSPOSES, ids=name_of)
def test_every_bit_of_any_shape_is_where_it_belongs(
    kernel: Kernel, version: Implementation, dtype: Dtype
) -> None:
    """NaN of any kind among them: what moves is not a number."""
    call = built(kernel, version, dtype)
    element = getattr(torch, dtype)
    integer = torch.int32 if dtype is Dtype.FLOAT32 else torch.int16
    ends = torch.iinfo(integer)
    for rows, cols in SHAPES:
        bits = torch.randint(ends.min, ends.max, (rows * cols + 3,), dtype=integer, device="cuda")
        for offset in (0, 3):
            x = bits[offset : offset + rows * cols].view(rows, cols)
            (y,) = call(x.view(element))
            assert torch.equal(y.view(integer), x.t()), (rows, cols, offset)
