"""The Triton versions under Triton's interpreter on the CPU: their numbers, not their speed.

`make test` interprets each version at its first odd size in one dtype, and with NaN among the inputs.
"""

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Pipe, Provider
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.kernels import interpreter
from roofscope.tests.kernels.cases import (
    OVERFLOWS,
    Tensors,
    can_be_spoiled,
    eager,
    element_count,
    element_names,
    implementations,
    name_of,
    random_inputs,
    reference,
    relative_error,
    sample,
    signature,
    spoiled_inputs,
)

triton = pytest.importorskip("triton", reason="Triton is not installed here")

Started = Callable[[], Tensors]
Start = Callable[[Kernel, Implementation, Dtype, Tensors], Started]

MOST_ELEMENTS = 300_000  # the interpreter takes milliseconds a block
VERSIONS = list(implementations(Provider.TRITON))
CASES = [
    (kernel, version, sizes, dtype)
    for kernel, version in VERSIONS
    for sizes in kernel.spec.odd_sizes
    for dtype in (kernel.spec.dtypes if sizes is kernel.spec.odd_sizes[0] else kernel.spec.dtypes[:1])
    if element_count(kernel, sizes) <= MOST_ELEMENTS
]


@pytest.fixture
def start(interpreters: ProcessPoolExecutor) -> Start:
    """Starts a Triton version on tensors, in an interpreting process; the result waits for it."""

    def start(kernel: Kernel, version: Implementation, dtype: Dtype, inputs: Tensors) -> Started:
        given = [str(x.dtype).removeprefix("torch.") for x in inputs]
        arrays = [x.double().numpy() for x in inputs]
        path = kernel.folder / f"{version.stem}.py"
        future = interpreters.submit(interpreter.run, path, given, arrays)

        def result() -> Tensors:
            try:
                outputs, dtypes = future.result()
            except Refusal as refusal:
                pytest.skip(str(refusal))
            assert dtypes == element_names(kernel, dtype)
            return tuple(torch.from_numpy(output) for output in outputs)

        return result

    return start


def test_the_triton_that_was_asked_for_interprets(interpreters: ProcessPoolExecutor) -> None:
    assert interpreters.submit(interpreter.version).result() == (interpreter.OTHER or triton.__version__)


def is_interpreted(kernel: Kernel, dtype: Dtype) -> bool:
    """The interpreter's tl.dot takes the bits of bfloat16 for integers."""
    return not (kernel.spec.pipe is Pipe.TENSOR and dtype is Dtype.BFLOAT16)


@pytest.mark.parametrize(
    ("kernel", "version", "sizes", "dtype"),
    sample(
        CASES,
        # Some versions that use tensor cores refuse float32.
        lambda kernel, version, _, dtype: (version.key, dtype if kernel.spec.pipe is Pipe.TENSOR else None),
        lambda kernel, _version, _sizes, dtype: is_interpreted(kernel, dtype),
    ),
    ids=name_of,
)
def test_is_right(
    start: Start, kernel: Kernel, version: Implementation, sizes: dict[str, int], dtype: Dtype
) -> None:
    if not is_interpreted(kernel, dtype):
        pytest.skip("the interpreter's tl.dot takes the bits of bfloat16 for integers")
    magnitudes = [1.0] if version.key in OVERFLOWS else [1.0, kernel.spec.large_magnitude]
    every = [random_inputs(kernel, sizes, dtype, magnitude) for magnitude in magnitudes]
    started = [start(kernel, version, dtype, inputs) for inputs in every]
    for inputs, result in zip(every, started, strict=True):
        expected = reference(kernel, inputs)
        assert relative_error(result(), expected) <= kernel.spec.tolerance.of(dtype)


# Where launchers take other tiles than at odd sizes, or another kernel: few rows, thin matrices, short rows.
TILES = {
    "bias_gelu": ((2, 1_049_089),),
    "cumsum": ((72, 165), (131, 211), (1044, 15), (1031, 189), (1025, 259), (301, 37)),
    "weighted_sum": (
        (134, 3374),
        (3, 9001),
        (5001, 5),
        (65_537, 3),
        (129, 8),
        (698, 33),
        (20, 200),
        (33, 2052),
        (67, 1028),
        (132, 2050),
    ),
    "row_sum": (
        (5001, 5),
        (65_537, 3),
        (129, 8),
        (1, 1),
        (1097, 23),
        (20, 200),
        (2053, 39),
        (3, 5965),
        (132, 4097),
    ),
    "transpose": (
        (2, 2048),
        (5, 20_001),
        (3, 51_986),
        (51_986, 3),
        (14, 20_011),
        (105, 167),
        (73, 271),
        (271, 70),
        (3, 530_001),
    ),
    "dequantize_int8": (
        *((988, 45), (5001, 30), (1, 63), (77, 64), (2, 65), (70, 311), (70_001, 3)),
        *((33, 1032), (300, 985)),
        *((4804, 67), (442, 863), (131_201, 4), (65_664, 8), (50_003, 26)),  # runs with no mask
    ),
    "rope": ((1, 1, 5470, 48), (1, 1, 4104, 64), (1, 2, 1025, 65)),
    **dict.fromkeys(
        ("softmax", "softmax_backward", "rms_norm", "layer_norm", "add_rms_norm", "quantize_int8"),
        ((200, 3), (33, 32), (1100, 59)),
    ),
    "rms_norm_backward": ((131, 600), (1233, 11)),
    "layer_norm_backward": ((265, 70), (131, 1100)),
}
STEMS = (
    "triton_tiles",
    "triton_row_tiles",
    "triton_pieces",
    "triton_registers",
    "triton_rows",
    "triton_persistent",
)


@pytest.mark.parametrize(
    ("kernel", "version", "shape"),
    [
        (kernel, version, shape)
        for kernel, version in VERSIONS
        if version.stem in STEMS
        for shape in TILES.get(kernel.spec.name, ())
    ],
    ids=name_of,
)
def test_tiles_of_few_and_short_rows_are_right(
    start: Start, kernel: Kernel, version: Implementation, shape: tuple[int, ...]
) -> None:
    sizes = dict(zip((axis.name for axis in kernel.spec.axes), shape, strict=True))
    inputs = random_inputs(kernel, sizes, Dtype.FLOAT32)
    result = start(kernel, version, Dtype.FLOAT32, inputs)()
    assert relative_error(result, reference(kernel, inputs)) <= kernel.spec.tolerance.of(Dtype.FLOAT32)


SPOILED = [
    (kernel, version, special)
    for kernel, version in VERSIONS
    for special in (math.nan, math.inf, -math.inf)
    if version.key not in OVERFLOWS and can_be_spoiled(kernel, special)
]


@pytest.mark.parametrize(
    ("kernel", "version", "special"),
    sample(SPOILED, lambda _kernel, version, _special: version.key),
    ids=name_of,
)
def test_spreads_what_is_not_finite_as_eager_does(
    start: Start, kernel: Kernel, version: Implementation, special: float
) -> None:
    dtype = kernel.spec.dtypes[0]
    inputs = spoiled_inputs(kernel, dtype, special)
    result = start(kernel, version, dtype, inputs)
    for mine, eagers in zip(signature(result()), signature(eager(kernel, inputs)), strict=True):
        assert torch.equal(mine, eagers)


@pytest.mark.parametrize(
    ("kernel", "version"), [pair for pair in VERSIONS if pair[1].key in OVERFLOWS], ids=name_of
)
def test_a_textbook_version_overflows_at_large_magnitudes(
    start: Start, kernel: Kernel, version: Implementation
) -> None:
    inputs = random_inputs(kernel, kernel.spec.odd_sizes[0], Dtype.FLOAT32, kernel.spec.large_magnitude)
    result = start(kernel, version, Dtype.FLOAT32, inputs)()
    assert relative_error(result, reference(kernel, inputs)) == math.inf
