"""The Triton versions under Triton's interpreter on the CPU: their numbers, not their speed."""

import math
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest
import torch

from profiling.catalog import Kernel
from profiling.spec import Dtype, Implementation, Pipe, Provider
from profiling.worker.failures import Refusal
from tests.kernels import interpreter
from tests.kernels.cases import (
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
    signature,
    spoiled_inputs,
)

triton = pytest.importorskip("triton", reason="Triton is not installed here")

Run = Callable[[Kernel, Implementation, Dtype, Tensors], Tensors]

MOST_ELEMENTS = 250_000  # the interpreter takes milliseconds a block
VERSIONS = list(implementations(Provider.TRITON))
CASES = [
    (kernel, version, sizes, dtype)
    for kernel, version in VERSIONS
    for sizes in kernel.spec.odd_sizes
    for dtype in (kernel.spec.dtypes if sizes is kernel.spec.odd_sizes[0] else kernel.spec.dtypes[:1])
    if element_count(kernel, sizes) <= MOST_ELEMENTS
]


class Started(Protocol):
    def __call__(self) -> Tensors: ...


Run = Callable[[Kernel, Implementation, Dtype, Tensors], Started]


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Starts a Triton version on tensors, in an interpreting process; the result waits for it."""
    with interpreter.start(os.cpu_count()) as pool:

        def start(kernel: Kernel, version: Implementation, dtype: Dtype, inputs: Tensors) -> Started:
            given = [str(x.dtype).removeprefix("torch.") for x in inputs]
            arrays = [x.double().numpy() for x in inputs]
            path = kernel.folder / f"{version.stem}.py"
            future = pool.submit(interpreter.run, path, given, arrays)

            def result() -> Tensors:
                try:
                    outputs, dtypes = future.result()
                except Refusal as refusal:
                    pytest.skip(str(refusal))
                assert dtypes == element_names(kernel, dtype)
                return tuple(torch.from_numpy(output) for output in outputs)

            return result

        yield start


def test_the_triton_that_was_asked_for_interprets() -> None:
    with interpreter.start() as pool:
        assert pool.submit(interpreter.version).result() == (interpreter.OTHER or triton.__version__)


@pytest.mark.parametrize(("kernel", "version", "sizes", "dtype"), CASES, ids=name_of)
def test_is_right(
    run: Run, kernel: Kernel, version: Implementation, sizes: dict[str, int], dtype: Dtype
) -> None:
    if kernel.spec.pipe is Pipe.TENSOR and dtype is Dtype.BFLOAT16:
        pytest.skip("the interpreter's tl.dot takes the bits of bfloat16 for integers")
    for magnitude in (1.0, kernel.spec.large_magnitude):
        if magnitude > 1 and version.key in OVERFLOWS:
            continue
        inputs = random_inputs(kernel, sizes, dtype, magnitude)
        error = relative_error(run(kernel, version, dtype, inputs), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype)


@pytest.mark.parametrize(
    ("kernel", "version", "special"),
    [
        (kernel, version, special)
        for kernel, version in VERSIONS
        for special in (math.nan, math.inf, -math.inf)
        if can_be_spoiled(kernel, special) and version.key not in OVERFLOWS
    ],
    ids=name_of,
)
def test_spreads_what_is_not_finite_as_eager_does(
    run: Run, kernel: Kernel, version: Implementation, special: float
) -> None:
    dtype = kernel.spec.dtypes[0]
    inputs = spoiled_inputs(kernel, dtype, special)
    found = signature(run(kernel, version, dtype, inputs))
    for mine, eagers in zip(found, signature(eager(kernel, inputs)), strict=True):
        assert torch.equal(mine, eagers)


@pytest.mark.parametrize(
    ("kernel", "version"), [pair for pair in VERSIONS if pair[1].key in OVERFLOWS], ids=name_of
)
def test_a_textbook_version_overflows_at_large_magnitudes(
    run: Run, kernel: Kernel, version: Implementation
) -> None:
    inputs = random_inputs(kernel, kernel.spec.odd_sizes[0], Dtype.FLOAT32, kernel.spec.large_magnitude)
    assert relative_error(run(kernel, version, Dtype.FLOAT32, inputs), reference(kernel, inputs)) == math.inf
