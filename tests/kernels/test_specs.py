"""Each spec against the tensors it describes: bytes, FLOPs, presets, odd sizes."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Multiply, Pipe, Provider
from roofscope.tests.kernels.cases import CATALOG, eager, element_count, name_of, random_inputs

TF32_EPS = 2**-10
LAPTOP_BYTES = 256 * 2**20
SIZES = [
    (kernel, sizes, dtype)
    for kernel in CATALOG.kernels
    for sizes in kernel.spec.odd_sizes
    for dtype in kernel.spec.dtypes
    if element_count(kernel, sizes) <= 5_000_000
]

each_kernel = pytest.mark.parametrize("kernel", CATALOG.kernels, ids=name_of)


def test_every_folder_is_a_kernel() -> None:
    assert not CATALOG.problems
    assert {"vector_add", "weighted_sum", "gelu", "softmax", "matmul"} <= {
        kernel.spec.name for kernel in CATALOG.kernels
    }


@each_kernel
def test_has_every_provider(kernel: Kernel) -> None:
    """Where torch.compile's modes are compared, one kernel of our own may make no sense."""
    by_torch, by_hand = {Provider.EAGER, Provider.COMPILE}, {Provider.TRITON, Provider.CUDA}
    if kernel.spec.name == "training_step":  # made of other kernels' versions, joined by autograd
        by_hand = {Provider.TRITON}
    providers = {found.provider for found in kernel.implementations}
    assert providers >= by_torch | (set() if kernel.spec.compares_modes else by_hand)


@pytest.mark.parametrize(("kernel", "sizes", "dtype"), SIZES, ids=name_of)
def test_bytes_are_those_of_the_tensors(kernel: Kernel, sizes: dict[str, int], dtype: Dtype) -> None:
    inputs = random_inputs(kernel, sizes, dtype)
    outputs = eager(kernel, inputs)
    assert [tuple(output.shape) for output in outputs] == [
        kernel.spec.shape(tensor, sizes) for tensor in kernel.spec.outputs
    ]
    work = kernel.spec.work_at(sizes, dtype)
    if work.flop_count:  # else nothing has to be read
        assert work.read_bytes == sum(tensor.nbytes for tensor in inputs)
    assert work.write_bytes == sum(tensor.nbytes for tensor in outputs)


@pytest.mark.parametrize(
    "kernel", [kernel for kernel in CATALOG.kernels if kernel.spec.pipe is Pipe.TENSOR], ids=name_of
)
def test_flops_are_those_torch_counts(kernel: Kernel) -> None:
    dtype = kernel.spec.dtypes[0]
    for sizes in kernel.spec.odd_sizes:
        inputs = random_inputs(kernel, sizes, dtype)
        with FlopCounterMode(display=False) as counter:
            eager(kernel, inputs)
        counted, claimed = counter.get_total_flops(), kernel.spec.work_at(sizes, dtype).flop_count
        if (
            "causal" in kernel.spec.name or kernel.spec.name == "attention_varlen"
        ):  # torch counts the half that is masked as well
            assert claimed <= counted <= 2 * claimed
        elif "window" in kernel.spec.name:  # and what has left the window
            assert claimed <= counted
        else:
            assert claimed == counted


@each_kernel
def test_presets_and_odd_sizes_fit_the_axes(kernel: Kernel) -> None:
    choices = [*(p.sizes for p in kernel.spec.presets), *kernel.spec.odd_sizes, *kernel.spec.sweep]
    assert [kernel.spec.problem_with(sizes) for sizes in choices] == [None] * len(choices)
    assert [preset.name for preset in kernel.spec.presets] == ["small", "medium", "large"]
    assert len(kernel.spec.sweep) == 8
    counts = [element_count(kernel, preset.sizes) for preset in kernel.spec.presets]
    assert counts == sorted(counts)


@each_kernel
def test_medium_fits_a_laptop(kernel: Kernel) -> None:
    medium = kernel.spec.preset("medium")
    assert medium is not None
    assert element_count(kernel, medium.sizes) * Dtype.FLOAT32.itemsize <= LAPTOP_BYTES


@pytest.mark.parametrize(
    "kernel",
    [kernel for kernel in CATALOG.kernels if all(output.element is None for output in kernel.spec.outputs)],
    ids=name_of,
)
def test_tolerances_are_no_looser_than_the_dtype_asks(kernel: Kernel) -> None:
    tolerance = kernel.spec.tolerance
    for dtype in kernel.spec.dtypes:
        eps = TF32_EPS if kernel.spec.multiplies is Multiply.TF32 else torch.finfo(getattr(torch, dtype)).eps
        rounding = eps / 2
        wide = dtype is Dtype.FLOAT32 and kernel.spec.multiplies is None
        assert rounding / 2 < tolerance.of(dtype) < (500 if wide else 9) * rounding
