"""What only kernels have that select, count, sort, round to FP8 or step: ties, and data that are not random.

Each for the eager version and, under the interpreter, for the Triton version.
"""

import math
from collections.abc import Callable

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.inputs import as_tuple, widened
from roofscope.profiling.worker.job.compare import judge
from roofscope.tests.kernels.cases import CATALOG
from roofscope.tests.kernels.hard_cases import LENGTHS, keys_of, rows_of, same

Tensors = tuple[torch.Tensor, ...]
Call = Callable[..., Tensors]

TRITON = {
    "adamw": "triton_tiles",
    "histogram": "triton_tiles",
    "radix_sort": "triton_digits",
    "rms_norm_quantize_fp8": "triton_rows",
    "top_k": "triton_threshold",
}

each_provider = pytest.mark.parametrize("provider", ["eager", "triton"])


def reference(kernel: str, *inputs: torch.Tensor) -> Tensors:
    return as_tuple(load_module(LIBRARY / kernel / "reference.py").run(*widened(inputs)))


@each_provider
@pytest.mark.parametrize("cols", LENGTHS)
def test_equal_elements_come_in_the_order_of_the_row(run: Call, cols: int) -> None:
    """Rising rows overflow a list of what is above the first elements; NaN is above infinity."""
    for name, x in rows_of(cols):
        for found, expected in zip(run("top_k", x), reference("top_k", x), strict=True):
            assert same(found, expected), name


@each_provider
def test_keys_of_either_sign_and_many_alike_are_sorted(run: Call) -> None:
    for n in (1, 1025, 5000):
        for name, key in keys_of(n):
            assert torch.equal(run("radix_sort", key)[0], key.sort().values), (name, n)


def test_arrays_of_a_short_tile_a_multiprocessor_are_short() -> None:
    pytest.importorskip(
        "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
    )
    module = load_module(LIBRARY / "radix_sort/cuda_onesweep.py")
    ways = [module.way_of(n, 132).keys for n in (1, 105_903, 132 * 2048, 132 * 2048 + 1, 2**21 - 1, 2**21)]
    assert ways == [8, 8, 8, 28, 28, 36]


@each_provider
def test_every_key_may_be_the_same(run: Call) -> None:
    for key in (0, 255):
        (count,) = run("histogram", torch.full((9001,), key, dtype=torch.int32))
        assert count.sum() == 9001
        assert count[key] == 9001


@each_provider
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_rows_in_fp8_span_its_range(run: Call, dtype: torch.dtype) -> None:
    """The largest element of a row has the outermost code; the scale is as exact as float32."""
    x = torch.randn((29, 1031), generator=torch.Generator().manual_seed(4)).to(dtype)
    x[3] = 0
    x[4] *= 1e-3
    w = torch.linspace(-1, 2, 1031).to(dtype)
    codes, scale = run("rms_norm_quantize_fp8", x, w)
    assert codes.dtype == torch.float8_e4m3fn
    largest = codes.double().abs().amax(dim=1)
    assert largest.tolist() == [448.0] * 3 + [0.0] + [448.0] * 25
    assert scale[3] == 1
    expected, expected_scale = reference("rms_norm_quantize_fp8", x, w)
    torch.testing.assert_close(scale.double(), expected_scale, rtol=1e-6, atol=0)
    assert (codes.double() != expected).double().mean() < 1e-3  # ties that float32 decides the other way


def test_a_tie_that_goes_the_other_way_is_right_and_cutting_off_is_not() -> None:
    """Float32 carries an element in 1e5 to the neighbouring code, of some rows a large one."""
    kernel = CATALOG.kernel("rms_norm_quantize_fp8")
    assert kernel is not None
    tolerance = kernel.spec.tolerance.of(Dtype.BFLOAT16)
    expected = torch.full((512, 65), 112.0, dtype=torch.float64)
    expected[:, 0], expected[:, 1] = 448, -256
    codes = expected.to(torch.float8_e4m3fn)
    codes[300, 1] = -288
    assert judge("q", codes, expected, tolerance, "here")[0].worst is not None
    x, w = torch.randn((512, 65), generator=torch.Generator().manual_seed(4)).bfloat16(), torch.ones(65)
    (right, scale), step = reference("rms_norm_quantize_fp8", x, w), 2.0**-3
    exact = torch.nn.functional.rms_norm(x.double(), (65,), eps=1e-6) / scale[:, None]
    power = exact.abs().log2().floor().clamp(min=-6).exp2() * step
    cut_off = ((exact / power).trunc() * power).to(torch.float8_e4m3fn)
    with pytest.raises(WrongResult, match="more than the tolerance"):
        judge("q", cut_off, right, tolerance, "here")


@each_provider
def test_a_step_without_a_past_is_finite(run: Call) -> None:
    """Of zeros the quotient is 0 / epsilon; NaN and infinite gradients make what they do in the formula."""
    zero = torch.zeros(5)
    new, mean, square = run("adamw", torch.ones(5), zero, zero, zero)
    torch.testing.assert_close(new, torch.full((5,), 1 - 1e-5))
    assert not mean.any()
    assert not square.any()
    gradient = torch.tensor([1.0, math.nan, math.inf, 1e20, 0.0])
    for found, expected in zip(
        run("adamw", torch.ones(5), gradient, zero, zero),
        reference("adamw", torch.ones(5), gradient, zero, zero),
        strict=True,
    ):
        assert torch.equal(found[:3].isnan(), expected[:3].isnan())
        assert not found[3].isnan()
