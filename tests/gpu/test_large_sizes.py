"""More than 2^31 elements: every pointwise and row kernel of ours is right at the far end, too."""

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
LEFT_OUT = {"changing_shapes", "dynamic_flow", "regression_loss", "row_loop", "slow_loop", "training_step"}
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


def inputs_of(kernel: Kernel, sizes: dict[str, int], axis: str) -> tuple[Tensors, Tensors]:
    """All inputs, and their ends. Derived ones are right at the end only: all of them would not fit."""
    inputs = InputMaker(kernel.spec, Dtype.BFLOAT16, torch.device("cuda"), seed=1).make(sizes)
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


@pytest.mark.parametrize(("kernel", "version", "sizes"), list(cases()), ids=name_of)
def test_the_end_is_right(kernel: Kernel, version: Implementation, sizes: dict[str, int]) -> None:
    if not is_inside(version.domain, sizes, Dtype.BFLOAT16):
        pytest.skip("outside of its domain")
    torch.cuda.empty_cache()
    tensors = (*kernel.spec.inputs, *kernel.spec.outputs)
    if torch.cuda.mem_get_info()[0] < 3 * sum(math.prod(kernel.spec.shape(t, sizes)) for t in tensors):
        pytest.skip("this GPU has too little free memory for 2^31 elements")
    axis = next(iter(sizes))
    inputs, ends = inputs_of(kernel, sizes, axis)
    results = as_tuple(built(kernel, version, Dtype.BFLOAT16)(*inputs))
    pairs = zip(results, reference(kernel, ends), kernel.spec.outputs, strict=True)
    for result, expected, spec in pairs:
        if axis in spec.shape:
            error = relative_error((end_of(result, spec, axis),), (expected,))
            assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), spec.name
