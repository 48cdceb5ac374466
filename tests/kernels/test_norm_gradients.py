"""What the gradients of the norms launch for long rows that begin anywhere: a kernel with room for one."""

import re
from itertools import product

import pytest
import torch

from roofscope.kernels.shared.norm_backward import NARROW_FROM, WARP, choose
from roofscope.tests.kernels.launchers import launcher, source

KERNELS = ["rms_norm_backward", "layer_norm_backward"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_narrow_kernel_is_in_the_source(kernel: str) -> None:
    found = re.findall(
        r"^NARROW\((\d+), (\d+), (\d+), (\d+)\)", source(kernel, "cuda_persistent"), re.MULTILINE
    )
    narrow = launcher(kernel, "cuda_persistent").NARROW
    assert [tuple(map(int, one)) for one in found] == [
        (one.threads, one.each, one.width, one.at_once) for one in narrow
    ]
    names = [(one.threads, one.each, one.width) for one in narrow]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kernel", KERNELS)
def test_long_rows_that_begin_anywhere_have_room(kernel: str) -> None:
    module = launcher(kernel, "cuda_persistent")
    columns = (NARROW_FROM + 1, 1538, 2047, 2050, 2777, 3076, 4095, 4099, 5001, 6146, 8191)
    for rows, cols in product((3, 1500, 5000), columns):
        x = torch.empty(rows, cols, dtype=torch.bfloat16, device="meta")
        chosen = choose(kernel, cols, module.SHARED_BYTES, module.NARROW, x)
        found = re.fullmatch(r"narrow_(\d+)_(\d+)_(\d+)", chosen.name)
        assert found is not None
        threads, each, width = map(int, found.groups())
        assert cols % width == 0
        assert cols <= threads * each * width <= 2 * cols
        assert chosen.block == chosen.threads == threads
        assert threads % WARP == 0
        assert chosen.blocks(70_001, 132) == 132 * chosen.blocks_at_once
        assert chosen.blocks(7, 132) == 7


@pytest.mark.parametrize("kernel", KERNELS)
def test_other_rows_do_not_take_narrow_accesses(kernel: str) -> None:
    module = launcher(kernel, "cuda_persistent")
    for cols, dtype in ((2048, torch.bfloat16), (1023, torch.bfloat16), (1025, torch.float32)):
        chosen = choose(kernel, cols, module.SHARED_BYTES, module.NARROW, torch.empty(3, cols, dtype=dtype))
        assert not chosen.name.startswith("narrow"), cols
