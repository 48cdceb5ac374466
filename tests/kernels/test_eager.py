"""The judge, and the version everybody trusts: references and eager versions on the CPU."""

from itertools import product

import pytest
import torch
from torch.nn import functional

from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.worker.candidate.snapshot import alias_fault
from roofscope.profiling.worker.inputs import as_tuple, widened
from roofscope.tests.kernels.cases import (
    CATALOG,
    eager,
    element_count,
    element_names,
    implementations,
    name_of,
    random_inputs,
    reference,
    relative_error,
    sample,
    tiny_sizes,
)

# A formula of its own for each kernel, by operators that neither the reference nor the eager version uses.
BY_OTHER_MEANS = {
    "vector_add": lambda x, y: torch.stack((x, y)).sum(dim=0),
    "weighted_sum": lambda x, w: functional.linear(x, w[None])[:, 0],
    "gelu": lambda x: x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x * x * x)),
    "softmax": lambda x: torch.exp(x - x.logsumexp(dim=1, keepdim=True)),
    "matmul": lambda a, b: torch.einsum("mk,kn->mn", a, b),
}
# Which of the plainest versions verification refuses, and in what.
REFUSED = {"weighted_sum/eager_product": {Dtype.FLOAT16, Dtype.BFLOAT16}}
MOST_ELEMENTS = 5_000_000
SIZES = [
    (kernel, sizes)
    for kernel in CATALOG.kernels
    for sizes in kernel.spec.odd_sizes
    if element_count(kernel, sizes) <= MOST_ELEMENTS
]
# Of the libraries, what torch has for a CPU as well; tests/gpu has the others.
CUBLASLT = [pair for pair in implementations(Provider.LIBRARY) if pair[1].variant == "cublaslt"]


@pytest.mark.parametrize(("kernel", "sizes"), sample(SIZES, lambda kernel, _: kernel.spec.name), ids=name_of)
def test_reference_agrees_in_float64(kernel: Kernel, sizes: dict[str, int]) -> None:
    """With the eager version in float64 and, where one is known, with the formula in other operators."""
    for magnitude in (1.0, kernel.spec.large_magnitude):
        inputs = widened(random_inputs(kernel, sizes, kernel.spec.dtypes[0], magnitude))
        expected = reference(kernel, inputs)
        assert all(result.dtype == torch.float64 for result in expected)
        assert relative_error(eager(kernel, inputs), expected) < 1e-12
        if by_other_means := BY_OTHER_MEANS.get(kernel.spec.name):
            # At 1e4 the logarithm of the sum has lost 13 of its 52 bits after the point.
            assert relative_error((by_other_means(*inputs),), expected) < 1e-11


@pytest.mark.parametrize(
    ("kernel", "sizes", "dtype"),
    sample(
        [(kernel, sizes, dtype) for kernel, sizes in SIZES for dtype in kernel.spec.dtypes],
        lambda kernel, _, dtype: (kernel.spec.name, dtype),
    ),
    ids=name_of,
)
def test_eager_is_right(kernel: Kernel, sizes: dict[str, int], dtype: Dtype) -> None:
    for magnitude in (1.0, kernel.spec.large_magnitude):
        inputs = random_inputs(kernel, sizes, dtype, magnitude)
        results = eager(kernel, inputs)
        assert [str(result.dtype) for result in results] == [
            f"torch.{name}" for name in element_names(kernel, dtype)
        ]
        assert relative_error(results, reference(kernel, inputs)) <= kernel.spec.tolerance.of(dtype)


@pytest.mark.parametrize(
    ("kernel", "version"), [pair for pair in implementations(Provider.EAGER) if pair[1].variant], ids=name_of
)
def test_other_eager_versions_are_right(kernel: Kernel, version: Implementation) -> None:
    """At every odd size, in every dtype; but where 16 bits round what is summed, as its lesson says."""
    run, wrong = load_module(kernel.folder / f"{version.stem}.py").run, set[Dtype]()
    for sizes, dtype in product(kernel.spec.odd_sizes, kernel.spec.dtypes):
        if element_count(kernel, sizes) > MOST_ELEMENTS:
            continue
        for magnitude in (1.0, kernel.spec.large_magnitude):
            inputs = random_inputs(kernel, sizes, dtype, magnitude)
            results = as_tuple(run(*inputs))
            assert [str(result.dtype) for result in results] == [
                f"torch.{name}" for name in element_names(kernel, dtype)
            ]
            if relative_error(results, reference(kernel, inputs)) > kernel.spec.tolerance.of(dtype):
                wrong.add(dtype)
    assert wrong == REFUSED.get(version.key, set())


@pytest.mark.parametrize(("kernel", "version"), [*implementations(Provider.EAGER), *CUBLASLT], ids=name_of)
def test_outputs_lie_in_memory_of_their_own(kernel: Kernel, version: Implementation) -> None:
    """At tiny sizes too, where many an operator of torch returns its input or a view of it."""
    run = load_module(kernel.folder / f"{version.stem}.py").run
    for sizes, dtype in product(tiny_sizes(kernel), kernel.spec.dtypes):
        inputs = random_inputs(kernel, sizes, dtype)
        outputs = as_tuple(run(*inputs))
        assert [tuple(output.shape) for output in outputs] == [
            kernel.spec.shape(output, sizes) for output in kernel.spec.outputs
        ]
        assert alias_fault(inputs, outputs) is None, sizes


@pytest.mark.parametrize("dtype", [Dtype.FLOAT32], ids=str)
def test_a_wrong_result_is_beyond_the_tolerance(dtype: Dtype) -> None:
    """The textbook GELU by erf instead of tanh, and a softmax without its last column."""
    gelu, softmax = CATALOG.kernel("gelu"), CATALOG.kernel("softmax")
    assert gelu is not None
    assert softmax is not None
    (x,) = inputs = random_inputs(gelu, gelu.spec.odd_sizes[0], dtype)
    assert relative_error((functional.gelu(x),), reference(gelu, inputs)) > gelu.spec.tolerance.of(dtype)
    (x,) = inputs = random_inputs(softmax, softmax.spec.odd_sizes[0], dtype)
    short = functional.pad(torch.softmax(x[:, :-1], dim=1), (0, 1))
    assert relative_error((short,), reference(softmax, inputs)) > softmax.spec.tolerance.of(dtype)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles
def test_a_compiled_eager_version_is_right() -> None:
    kernel = CATALOG.kernel("softmax")
    assert kernel is not None
    compiled = torch.compile(load_module(kernel.folder / "eager.py").run, fullgraph=True, dynamic=False)
    inputs = random_inputs(kernel, kernel.spec.odd_sizes[0], Dtype.FLOAT32)
    error = relative_error((compiled(*inputs),), reference(kernel, inputs))
    assert error <= kernel.spec.tolerance.of(Dtype.FLOAT32)
