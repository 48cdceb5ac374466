"""Every implementation of every kernel on the GPU: numbers, odd sizes, NaN, infinity, and stray writes."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.domain import is_inside
from roofscope.profiling.planning.spec import Dtype, Implementation, Pipe, Provider, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.candidate.snapshot import alias_fault
from roofscope.profiling.worker.failures import Refusal
from roofscope.profiling.worker.inputs import as_tuple
from roofscope.tests.kernels.cases import (
    OVERFLOWS,
    Tensors,
    can_be_spoiled,
    eager,
    element_names,
    implementations,
    name_of,
    random_inputs,
    reference,
    relative_error,
    signature,
    spoiled_inputs,
    tiny_sizes,
)

Call = Callable[..., Tensors]

_allocate = torch.empty  # a test replaces torch's own
GUARD = 4096  # elements on either side: far enough for a whole block to miss by one
OURS = list(implementations(Provider.TRITON, Provider.CUDA, Provider.CUTE))
# Of torch.compile's modes the default one: the others take minutes, and test_compile_gpu has them.
ALL = [
    pair
    for pair in implementations(*Provider)
    if pair[1].provider is not Provider.COMPILE or pair[1].variant == "default"
]


Case = tuple[Kernel, Implementation, Dtype]


def with_dtypes(pairs: Iterable[tuple[Kernel, Implementation]]) -> list[Case]:
    return [(kernel, version, dtype) for kernel, version in pairs for dtype in kernel.spec.dtypes]


pytestmark = [
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, while it compiles
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
    pytest.mark.filterwarnings("ignore::UserWarning:cutlass"),  # of arguments that FlashAttention-4 passes
    pytest.mark.filterwarnings("ignore:This static loop has"),  # the CuTe DSL's, of QuACK's long rows
]


def built(kernel: Kernel, version: Implementation, dtype: Dtype) -> Call:
    """Build as the worker does. A refusal, now or at a call, skips the test."""
    workload = Workload(kernel.spec.name, dtype, {})
    request = BuildRequest(version, kernel.folder, workload, torch.device("cuda", 0))
    try:
        run = providers.build(request).call
    except Refusal as refusal:
        pytest.skip(str(refusal))

    def call(*inputs: torch.Tensor) -> Tensors:
        try:
            outputs = as_tuple(run(*inputs))
        except Refusal as refusal:
            pytest.skip(str(refusal))
        torch.cuda.synchronize()
        found = [str(output.dtype).removeprefix("torch.") for output in outputs]
        assert found == element_names(kernel, dtype)
        return outputs

    return call


def embedded(values: torch.Tensor, around: float, offset: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """A contiguous copy inside a longer tensor full of ``around``, which comes first; of 7 for integers."""
    whole = _allocate(values.numel() + 2 * GUARD + offset, dtype=values.dtype, device="cuda")
    whole.fill_(around if values.is_floating_point() else 7)
    inner = whole[GUARD + offset : GUARD + offset + values.numel()].view(values.shape)
    inner.copy_(values)
    return whole, inner


@contextmanager
def guarded_allocations(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[torch.Tensor, torch.Tensor]]]:
    """What is allocated inside lies between guards; gives the (whole, inner) pairs."""
    pairs: list[tuple[torch.Tensor, torch.Tensor]] = []

    def guarded(allocate: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def allocate_guarded(*arguments: Any, **options: Any) -> torch.Tensor:
            model = allocate(*arguments, **options)
            if model.device.type != "cuda":
                return model
            pairs.append(embedded(model, 7.25))
            return pairs[-1][1]

        return allocate_guarded

    with monkeypatch.context() as patch:
        for name in ("empty", "empty_like", "zeros"):
            patch.setattr(torch, name, guarded(getattr(torch, name)))
        yield pairs


# Other people's, which are wrong at some of these sizes: QuACK 0.6.5 and Liger-Kernel 0.8.5. The engine says
# so where it measures them.
WRONG_ELSEWHERE = (
    *("softmax/library_quack", "cross_entropy/library_quack", "linear_cross_entropy/library_quack"),
    *("rms_norm_backward/library_liger", "linear_cross_entropy_training/library_liger"),
)


def bear_with_others(version: Implementation, request: pytest.FixtureRequest) -> None:
    """A failure of one that is known to be wrong is none of ours, nor that it is right for once."""
    if version.key in WRONG_ELSEWHERE:
        request.applymarker(pytest.mark.xfail(reason="not ours to mend", strict=False))


@pytest.mark.parametrize(("kernel", "version", "dtype"), with_dtypes(ALL), ids=name_of)
def test_is_right(
    kernel: Kernel, version: Implementation, dtype: Dtype, request: pytest.FixtureRequest
) -> None:
    bear_with_others(version, request)
    small = kernel.spec.preset("small")
    assert small is not None
    # Those of its domain: a refusal at the first would leave out the rest.
    choices = [*kernel.spec.odd_sizes, small.sizes]
    choices = [sizes for sizes in choices if is_inside(version.domain, sizes, dtype)]
    if version.provider is Provider.COMPILE:
        choices = choices[:1]  # it takes seconds a shape
    call = built(kernel, version, dtype)
    for sizes in choices:
        for magnitude in (1.0, kernel.spec.large_magnitude):
            if magnitude > 1 and version.key in OVERFLOWS:
                continue
            inputs = random_inputs(kernel, sizes, dtype, magnitude, "cuda")
            before = [x.clone() for x in inputs]
            error = relative_error(call(*inputs), reference(kernel, inputs))
            assert error <= kernel.spec.tolerance.of(dtype), f"at {sizes} up to {magnitude:g}"
            assert all(torch.equal(*pair) for pair in zip(inputs, before, strict=True)), f"input at {sizes}"


# PyTorch's own kernel on a GPU makes NaN of a whole row that holds an infinity. On the CPU, as by the
# formula, the infinity alone becomes NaN, and the rest 0.
EAGER_ON_CPU = ("rms_norm", "add_rms_norm")


@pytest.mark.parametrize(
    ("kernel", "version", "dtype", "special"),
    [
        (*case, special)
        for case in with_dtypes(OURS)
        for special in (math.nan, math.inf, -math.inf)
        if can_be_spoiled(case[0], special) and case[1].key not in OVERFLOWS
    ],
    ids=name_of,
)
def test_spreads_what_is_not_finite_as_eager_does(
    kernel: Kernel, version: Implementation, dtype: Dtype, special: float
) -> None:
    inputs = spoiled_inputs(kernel, dtype, special, "cuda")
    found = signature(built(kernel, version, dtype)(*inputs))
    if kernel.spec.name in EAGER_ON_CPU:
        inputs = tuple(tensor.cpu() for tensor in inputs)
    for mine, eagers in zip(found, signature(eager(kernel, inputs)), strict=True):
        assert torch.equal(mine, eagers)


@pytest.mark.parametrize(("kernel", "version", "dtype"), with_dtypes(OURS), ids=name_of)
def test_keeps_inside_its_tensors(
    kernel: Kernel, version: Implementation, dtype: Dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing outside the output is written, and nothing outside the inputs is used: it would be NaN."""
    call = built(kernel, version, dtype)
    for sizes in kernel.spec.odd_sizes:
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        expected = reference(kernel, inputs)
        inputs = tuple(embedded(x, math.nan)[1] for x in inputs)
        with guarded_allocations(monkeypatch) as pairs:
            results = call(*inputs)
        assert relative_error(results, expected) <= kernel.spec.tolerance.of(dtype), f"at {sizes}"
        assert pairs or not any(result.numel() for result in results), "allocated elsewhere"
        for whole, inner in pairs:
            around = 7.25 if inner.is_floating_point() else 7
            inner.detach().fill_(around)  # autograd lets nobody write into what its functions gave
            assert (whole == around).all(), f"wrote outside its output at {sizes}"


@pytest.mark.parametrize(
    ("kernel", "version", "dtype"),
    with_dtypes(pair for pair in OURS if pair[0].spec.pipe is not Pipe.TENSOR),
    ids=name_of,
)
def test_takes_inputs_at_any_alignment(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    """All inputs off by one element, and each by another number."""
    call = built(kernel, version, dtype)
    for sizes in kernel.spec.odd_sizes:
        aligned = random_inputs(kernel, sizes, dtype, device="cuda")
        for step in (0, 1):
            inputs = tuple(embedded(x, math.nan, 1 + step * i)[1] for i, x in enumerate(aligned))
            error = relative_error(call(*inputs), reference(kernel, aligned))
            assert error <= kernel.spec.tolerance.of(dtype), f"at {sizes}"


@pytest.mark.parametrize(
    ("kernel", "version", "dtype"),
    with_dtypes(implementations(Provider.EAGER, Provider.LIBRARY)),
    ids=name_of,
)
def test_outputs_lie_in_memory_of_their_own(
    kernel: Kernel, version: Implementation, dtype: Dtype, request: pytest.FixtureRequest
) -> None:
    """At tiny sizes too, where many an operator of torch returns its input or a view of it."""
    bear_with_others(version, request)
    request = BuildRequest(
        version, kernel.folder, Workload(kernel.spec.name, dtype, {}), torch.device("cuda", 0)
    )
    for sizes in tiny_sizes(kernel):
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        with suppress(Refusal):
            outputs = as_tuple(providers.build(request).call(*inputs))
            assert alias_fault(inputs, outputs) is None, sizes
