"""The gradients of the norms of long rows that begin anywhere, on a GPU: by narrow accesses side by side."""

from collections.abc import Iterator

import pytest
import torch

from roofscope.kernels.shared.norm_backward import NARROW_FROM, Narrow
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.gpu.test_kernels_gpu import built
from roofscope.tests.kernels.cases import (
    implementations,
    name_of,
    random_inputs,
    reference,
    relative_error,
)

VERSIONS = [
    (kernel, version)
    for kernel, version in implementations(Provider.CUDA)
    if kernel.spec.name in ("rms_norm_backward", "layer_norm_backward") and version.stem == "cuda_persistent"
]
SIXTEEN_BITS = [Dtype.FLOAT16, Dtype.BFLOAT16]
ROWS = (1, 3, 131, 133, 529, 2053)  # fewer than blocks that stay, and some for each


def columns(kernel: Kernel, version: Implementation) -> Iterator[int]:
    """Where the launcher turns from one kernel to the next, and little or much of a thread's last access."""
    narrow: tuple[Narrow, ...] = load_module(kernel.folder / f"{version.stem}.py").NARROW
    for one in narrow:
        step = one.width * one.threads
        yield from (one.cols - one.width, one.cols - step + one.width, one.cols - 2 * step + one.width)
    yield from (NARROW_FROM + 1, NARROW_FROM + 2, NARROW_FROM + 4)


@pytest.mark.parametrize("dtype", SIXTEEN_BITS)
@pytest.mark.parametrize(("kernel", "version"), VERSIONS, ids=name_of)
def test_rows_that_begin_anywhere(kernel: Kernel, version: Implementation, dtype: Dtype) -> None:
    call = built(kernel, version, dtype)
    for place, cols in enumerate(sorted({cols for cols in columns(kernel, version) if cols > NARROW_FROM})):
        for rows in (ROWS[place % len(ROWS)], ROWS[-1]):
            inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
            error = relative_error(call(*inputs), reference(kernel, inputs))
            assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"


@pytest.mark.parametrize(("kernel", "version"), VERSIONS, ids=name_of)
def test_views_that_begin_an_element_later(kernel: Kernel, version: Implementation) -> None:
    """Also of whole packs, which are then none."""
    dtype = Dtype.BFLOAT16
    call = built(kernel, version, dtype)
    for rows, cols in ((133, 1032), (529, 3000), (35, 5001), (7, 8192)):
        inputs = random_inputs(kernel, {"rows": rows, "cols": cols}, dtype, device="cuda")
        views = tuple(
            torch.empty(x.numel() + 1, dtype=x.dtype, device="cuda")[1:].view_as(x).copy_(x) for x in inputs
        )
        error = relative_error(call(*views), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), f"{rows} x {cols}"


@pytest.mark.parametrize("special", [float("nan"), float("inf")])
@pytest.mark.parametrize(("kernel", "version"), VERSIONS, ids=name_of)
def test_what_is_no_number_stays_in_its_row_and_columns(
    kernel: Kernel, version: Implementation, special: float
) -> None:
    call = built(kernel, version, Dtype.BFLOAT16)
    for cols in (1025, 2777, 4099, 8191):
        rows, spoilt = 529, 77
        dy, *others = random_inputs(kernel, {"rows": rows, "cols": cols}, Dtype.BFLOAT16, device="cuda")
        before = call(dy, *others)
        dy[spoilt, cols // 2] = special
        after = call(dy, *others)
        kept = torch.arange(rows, device="cuda") != spoilt
        assert torch.equal(before[0][kept], after[0][kept]), f"{cols} columns"
        clean = torch.arange(cols, device="cuda") != cols // 2
        for old, new in zip(before[1:], after[1:], strict=True):
            assert torch.equal(old[clean], new[clean]), f"{cols} columns"
            assert not new[cols // 2].isfinite(), f"{cols} columns"
