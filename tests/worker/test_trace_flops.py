"""FLOPs of recorded operators beside those that torch's own analysis reads of the same events."""

from typing import Any

import pytest

from roofscope.profiling.traces.work.formulas import work_of
from roofscope.tests.recorded_calls import BF16, FP16, FP32, Argument, recorded

analysis: Any = pytest.importorskip("torch._inductor.analysis.profile_analysis")

A, B = ([8192, 1024], BF16), ([1024, 4096], BF16)
SAME = (None, "[2, 2]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mm", (A, B)),
        ("addmm", (([4096], BF16), A, B, "1", "1")),
        ("bmm", (([6, 128, 64], FP32), ([6, 64, 96], FP32))),
        ("convolution", (([8, 64, 56, 56], FP16), ([128, 64, 3, 3], FP16), *SAME)),
    ],
)
def test_flops_are_those_of_torch(name: str, arguments: tuple[Argument, ...]) -> None:
    """Without padding, which torch's analysis leaves out of the size of a convolution's result."""
    said = recorded(*arguments)
    counted = analysis._calculate_flops({"name": f"aten::{name}", "args": said})
    assert counted > 0
    assert counted == work_of(f"aten::{name}", said).flop_count
