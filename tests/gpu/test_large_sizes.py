"""More than 2^31 elements: pointwise and row kernels of ours are right at the far end, a sort all over."""

import math
from collections.abc import Iterator

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.domain import is_inside
from roofscope.profiling.planning.spec import Dtype, Fill, Implementation, Provider, TensorSpec
from roofscope.profiling.worker.inputs import InputMaker, as_tuple
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import Tensors, implementations, name_of, reference, relative_error

# Beyond 2^31 elements in all, with an odd number in a row; the first axis is the one that is cut.
LARGE = (
    {"n": 2**31 + 4099},
    {"rows": 2**21 + 3, "cols": 1031},
    {"rows": 2**21 + 3, "groups": 9, "group": 128},
    {"batch": 2051, "heads": 8, "seq": 1031, "half": 64},
)
# Those whose results at the end rest on everything before, or that are no pass over memory.
LEFT_OUT = {
    *("changing_shapes", "dynamic_flow", "regression_loss", "row_loop", "slow_loop", "training_step"),
    "radix_sort",  # has a test of its own
}
PIECE = 2**26  # elements that are looked at at once
END = 3  # of the first axis


def cases() -> Iterator[tuple[Kernel, Implementation, dict[str, int]]]:
    for kernel, version in implementations(Provider.TRITON, Provider.CUDA):
        axes = [axis.name for axis in kernel.spec.axes]
        for sizes in LARGE:
            if list(sizes) == axes and kernel.spec.name not in LEFT_OUT and _has_end(kernel, axes[0]):
                yield kernel, version, sizes


def _has_end(kernel: Kernel, axis: str) -> bool:
    """Whether the end of an output needs the end of the inputs only."""
    return any(axis in output.shape for output in kernel.spec.outputs)


def end_of(tensor: torch.Tensor, spec: TensorSpec, axis: str) -> torch.Tensor:
    """The last few along the axis; the whole where a tensor does not have it."""
    if axis not in spec.shape:
        return tensor
    along = spec.shape.index(axis)
    return tensor.narrow(along, tensor.shape[along] - END, END)


def dtype_of(kernel: Kernel) -> Dtype:
    """The smallest that the kernel takes."""
    return min(kernel.spec.dtypes, key=lambda dtype: (dtype.itemsize, dtype is not Dtype.BFLOAT16))


def require_memory(kernel: Kernel, sizes: dict[str, int], more_bytes: int = 0) -> None:
    """Skip where inputs, outputs and ``more_bytes`` do not fit, with a gigabyte for what a version keeps."""
    torch.cuda.empty_cache()
    needed = sum(
        math.prod(kernel.spec.shape(tensor, sizes))
        * getattr(torch, tensor.element_at(dtype_of(kernel))).itemsize
        for tensor in (*kernel.spec.inputs, *kernel.spec.outputs)
    )
    needed += 2**30 + more_bytes
    if (free := torch.cuda.mem_get_info()[0]) < needed:
        pytest.skip(f"needs {needed / 2**30:.1f} GiB of memory, of which {free / 2**30:.1f} are free")


def inputs_of(kernel: Kernel, sizes: dict[str, int], axis: str) -> tuple[Tensors, Tensors]:
    """All inputs, and their ends. Derived ones are right at the end only: all of them would not fit."""
    inputs = InputMaker(kernel.spec, dtype_of(kernel), torch.device("cuda"), seed=1).make(sizes)
    derived = [spec.fill is Fill.DERIVED for spec in kernel.spec.inputs]
    ends = tuple(end_of(*pair, axis) for pair in zip(inputs, kernel.spec.inputs, strict=True))
    if any(derived):
        derive = load_module(kernel.folder / "reference.py").derive
        found = iter(derive(*(end.contiguous() for end in ends)))
        for tensor, end, is_derived in zip(inputs, ends, derived, strict=True):
            if is_derived:
                tensor.fill_(1)
                end.copy_(next(found))
    return inputs, tuple(end.clone() for end in ends)


def sorts() -> list[tuple[Kernel, Implementation]]:
    both = implementations(Provider.TRITON, Provider.CUDA)
    return [(kernel, version) for kernel, version in both if kernel.spec.name == "radix_sort"]


def sums_of(keys: torch.Tensor) -> tuple[int, int]:
    """Of the keys and of their squares, modulo 2^64."""
    whole = squares = 0
    for piece in keys.split(PIECE):
        wide = piece.long()
        whole += int(wide.sum())
        squares += int((wide * wide).sum())
    return whole, squares % 2**64


@pytest.mark.parametrize(("kernel", "version", "sizes"), list(cases()), ids=name_of)
def test_the_end_is_right(kernel: Kernel, version: Implementation, sizes: dict[str, int]) -> None:
    dtype = dtype_of(kernel)
    if not is_inside(version.domain, sizes, dtype):
        pytest.skip("outside of its domain")
    require_memory(kernel, sizes)
    axis = next(iter(sizes))
    inputs, ends = inputs_of(kernel, sizes, axis)
    try:
        results = as_tuple(built(kernel, version, dtype)(*inputs))
    except torch.OutOfMemoryError as error:
        pytest.skip(f"keeps more beside its inputs and outputs than this GPU has: {error}")
    pairs = zip(results, reference(kernel, ends), kernel.spec.outputs, strict=True)
    for result, expected, spec in pairs:
        if axis in spec.shape:
            error = relative_error((end_of(result, spec, axis),), (expected,))
            assert error <= kernel.spec.tolerance.of(dtype), spec.name


@pytest.mark.parametrize(("kernel", "version"), sorts(), ids=name_of)
def test_a_sort_is_right_beyond_32_bits(kernel: Kernel, version: Implementation) -> None:
    """In order from end to end, and of the same keys: their sum and that of their squares are the same."""
    sizes = LARGE[0]
    if not is_inside(version.domain, sizes, Dtype.FLOAT32):
        pytest.skip("outside of its domain")
    require_memory(kernel, sizes, more_bytes=4 * 2**32)  # what a network sorts is padded
    (key,) = InputMaker(kernel.spec, Dtype.FLOAT32, torch.device("cuda"), seed=1).make(sizes)
    (result,) = built(kernel, version, Dtype.FLOAT32)(key)
    assert sums_of(result) == sums_of(key)
    for first in range(0, key.numel(), PIECE):
        piece = result[first : first + PIECE + 1]
        assert bool((piece[1:] >= piece[:-1]).all()), first


WALKED = [
    pair for pair in implementations(Provider.TRITON) if pair[0].spec.name in ("row_sum", "weighted_sum")
]


@pytest.mark.parametrize(("kernel", "version"), WALKED, ids=name_of)
def test_rows_that_programs_walk_along_are_found_beyond_32_bits(
    kernel: Kernel, version: Implementation
) -> None:
    """Of float32, and even: those of the other sizes are shorter or begin anywhere."""
    cols = 8188
    rows = 2**31 // cols + 7
    call = built(kernel, version, Dtype.FLOAT32)
    torch.cuda.empty_cache()
    if torch.cuda.mem_get_info()[0] < 9 * 2**30:
        pytest.skip("needs 9 GiB of memory")
    x = torch.ones(rows, cols, device="cuda")
    x[-END:].normal_()
    others = [torch.randn(cols, device="cuda") for _ in kernel.spec.inputs[1:]]
    expected = reference(kernel, (x[-END:], *others))
    results = tuple(result[-END:] for result in call(x, *others))
    assert relative_error(results, expected) <= kernel.spec.tolerance.of(Dtype.FLOAT32)
