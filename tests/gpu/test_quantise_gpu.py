"""The quantising kernels on a GPU: ties to even, which no tolerance sees, and products of many tiles."""

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.programs import hopper_program
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import implementations, name_of, random_inputs, reference, relative_error

pytestmark = [
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, while it compiles
]

OURS = list(implementations(Provider.TRITON, Provider.CUDA))
QUANTISERS = [pair for pair in OURS if pair[0].spec.name in ("quantize_int4", "quantize_int8")]
BACK = [pair for pair in OURS if pair[0].spec.name == "dequantize_int8"]
PRODUCTS = [pair for pair in OURS if pair[0].spec.name == "matmul_w4a16"]


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), QUANTISERS, ids=name_of)
def test_codes_of_16_bit_numbers_are_exact(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """A quotient is a tie or far enough from one for float32; in bfloat16 many are ties."""
    call = built(kernel, version, dtype)
    for sizes in kernel.spec.odd_sizes:
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        assert torch.equal(call(*inputs)[0].double(), reference(kernel, inputs)[0]), str(sizes)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), BACK, ids=name_of)
def test_runs_of_int8_codes(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """Few and many, of whole programs and with a tail; just too many."""
    call = built(kernel, version, dtype)
    for rows, cols in (
        *((9061, 15), (25_600, 12), (4804, 67), (442, 863), (639, 749), (177_818, 3), (22_236, 29)),
        *((131_201, 4), (65_664, 8), (99_464, 26), (201_649, 13), (1, 524_289), (873_814, 3)),
    ):
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        error = relative_error(call(*inputs), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize(("kernel", "version"), PRODUCTS, ids=name_of)
def test_a_block_takes_many_tiles(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """Few blocks that walk along the rows, or many: the last row is a tile's first."""
    call = built(kernel, version, dtype)
    for m, n, groups, group in (
        (1, 2**14 + 1, 64, 128),
        (2, 2**15 + 1, 32, 128),
        (7, 2**17 + 1, 8, 128),
        (8, 2**13 + 1, 12, 128),
        (3, 2**13 + 1, 3, 128),
        (5, 2**13 + 1, 6, 256),
        (2, 2**13 + 1, 17, 32),
    ):
        sizes = {"m": m, "n": n, "groups": groups, "group": group}
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        error = relative_error(call(*inputs), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), str(sizes)


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16])
@pytest.mark.parametrize("stem", ["cuda_mma_async", "cuda_tma"])
def test_the_blocks_of_a_cluster_share_a_tile(stem: str, dtype: Dtype) -> None:
    """Of every tile, scaled or not, or one block has it; some blocks, and warps, have no step at all."""
    from roofscope.kernels.matmul_w4a16 import stages

    program = hopper_program("matmul_w4a16", stem, dtype)
    kernel = next(kernel for kernel, _ in PRODUCTS)
    for m, n, groups, group in (
        *((39, 101, 89, 128), (26, 342, 114, 32), (7, 50, 9, 64), (1, 16, 3, 256)),
        *((70, 1031, 1, 32), (16, 513, 7, 32), (65, 767, 5, 64), (9, 300, 4, 128)),
    ):
        sizes = {"m": m, "n": n, "groups": groups, "group": group}
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        x, packed, scale = inputs
        expected = reference(kernel, inputs)
        for tile, cluster in stages.ways(group // 2, most=stages.CLUSTERS[-1]):
            y = torch.full((m, n), torch.nan, dtype=x.dtype, device="cuda")
            stages.launch(program, tile, cluster, x, packed, scale, y)
            error = relative_error((y,), expected)
            assert error <= kernel.spec.tolerance.of(dtype), f"{sizes} {tile} {cluster}"
